// Package site is the gate's listener: a gateway in front of a site asks there about each
// request whether it may go on.
//
//	any /site/{zoneId}     nginx (auth_request), Traefik (forwardAuth), Caddy (forward_auth)
//	any /site/{zoneId}/*   Envoy (ext_authz), which puts the visitor's path behind it
//
// # Who goes on
//
// In this order:
//
//  1. a visitor with a pass in the query (page.PassParameter), as the waiting page leads here.
//     The pass is exchanged for a session, once, and a redirect takes it out of the URL. It is good for the browser that
//     shows its key: a cookie that the gate sets when it sends a browser to wait, or else when that comes with the pass.
//  2. a visitor with a session: a signed cookie, or the same text in SessionHeader. It is
//     checked in memory, so that a visitor inside notices nothing of a store that is away.
//  3. what is never queued: paths, user agents and networks of the zone's settings, files that are fetched without
//     cookies, and preflights.
//  4. an app with a pass in a header, once. It gets the session in a header, too.
//  5. a browser that opens a page, if a newcomer need not wait: the gate joins for it before it
//     answers, and the browser gets a session with the answer.
//  6. everybody else, while the zone is open. A page that is fetched in advance is refused even then.
//  7. whoever does not navigate, if a newcomer need not: calls and frames of pages, apps, monitors, feed readers and
//     crawlers. See docs/engineering/decisions/0050-who-cannot-wait.md.
//
// Of the others, a browser that opens a page is sent to the waiting page, and anything else
// gets a problem document which says where to join; a crawler with the status 503. A zone that does not exist lets everybody
// through: see docs/engineering/decisions/0029-sessions.md, which also says what a copied cookie or pass
// can do.
//
// # At a CDN's edge
//
//	POST /traffic/session      a session for a pass, or a renewed one
//	POST /traffic/session/end  the visitor is done
//
// The gate of clients/edge decides by itself, from the zone's public state, and by the same rules: clients/edge/test/cases.json holds
// both gates to the same answers. These two, on the public listener, are what it asks beside joins. See
// docs/engineering/decisions/0063-the-gate-at-the-edge.md.
//
// # How gateways differ
//
// nginx's auth_request knows 2xx, 401 and 403 alone. So it gets a 401 with the address in
// Location where others get a 302, and a 403 with the status in StatusHeader and the document in ProblemHeader where others
// get that status. docs/integrate/site.md has the configuration that turns these into what others get.
//
// # Who is believed
//
// The gateway writes the beginning of the path, up to the zone. The visitor's request is in
// X-Original-URI (nginx), X-Original-URL (ingress-nginx), X-Forwarded-Uri (Traefik and Caddy), or the rest of the path (Envoy,
// for which neither header is read). A request with both headers is refused: one of them comes
// from the visitor, who could choose with it which path the gate decides about.
package site
