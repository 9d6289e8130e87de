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
//  1. who has a session: a signed cookie, or the same text in SessionHeader. It is checked
//     in memory, so that who is inside notices nothing of a store that is away.
//  2. who comes with a pass in the query (page.PassParameter): the waiting page leads here
//     so. The pass is exchanged for a session, once, and a redirect takes it out of the URL.
//  3. what is never queued: paths and user agents of the zone's settings, and preflights.
//  4. an app with a pass in a header. It gets the session in a header, too.
//  5. everybody, while the zone is open.
//  6. a browser that opens a page, where one who comes need not wait: the join is made
//     within this answer, and the browser gets a session with it.
//
// Of the others, a browser that opens a page is sent to the waiting page, and anything else
// gets a problem document which says where to join. A zone that there is not lets everybody
// through: see docs/decisions/0029-sessions.md, which also says what a copied cookie or pass
// can do.
//
// # How gateways differ
//
// nginx's auth_request knows 2xx, 401 and 403 alone. So it is answered 401 with the address in
// Location where others get a 302, and 403 with the document in ProblemHeader where others get
// a 429; docs/site.md has the configuration that makes of it what others get.
//
// # Who is believed
//
// The zone is in the path up to it, which is the gateway's. The visitor's request is in
// X-Original-URI (nginx), X-Forwarded-Uri (Traefik and Caddy), or the path (Envoy, where
// neither header is looked at). A request that has both headers is refused: one of them is
// the visitor's, who would choose by it which path is asked about.
package site
