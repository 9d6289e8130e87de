// Package gateway stands in front of sites as a reverse proxy, and asks the gate about each request in this process: see package site.
// Where a site has a gateway of its own, such as nginx, that asks at the site's listener, and nothing of this package runs.
//
//	visitor ──> ServeHTTP ──┬─ /wait/, /traffic/, the public keys: the room's own handler
//	                        └─ all else: the site by host and path, then site.Service.Decide by values
//	                             goes on  ──> httputil.ReverseProxy ──> the site
//	                             does not ──> the gate's answer
//
// # Who is believed
//
// Method, host, path and address are those of the request that net/http has read; the path is given to the gate and sent on as one
// text. What a visitor sends in X-Original-*, X-Forwarded-*, Forwarded and the room's own headers does not reach the site, whether it
// is written with - or _ (CGI reads both alike). X-Forwarded-For, -Proto and -Host are kept from trusted proxies alone.
//
// # What a site is spared
//
// An Upgrade other than websocket is removed: with h2c a visitor would speak to the site past the gate. net/http refuses what could be
// read as two requests (Content-Length beside Transfer-Encoding, bad chunks, names with spaces), and writes a request anew.
//
// # What it bounds
//
// A site has Options.AnswerTimeout to begin an answer. A body may take for ever, in either direction, as long as something of it
// moves within Options.StallTimeout; a site that is silent between two parts of an answer is waited for. A connection that was upgraded and an event stream end when they are closed on either side, when the
// visitor's session is revoked, or when the server has drained. In a zone with a cap the visitor counts as inside while they are open;
// where sessions are not renewed, they end with the session.
package gateway
