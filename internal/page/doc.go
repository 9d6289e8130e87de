// Package page is the waiting page: what a browser shows while its visitor waits. It is
// for shops that put the room in front of a site without code of their own.
//
//	GET  /wait/{zoneId}?to=...   joins or polls, and shows the place
//	POST /wait/{zoneId}          the script's joins and polls; else a button: accepts an invitation, or gives the place up
//
// # Two ways to wait
//
// Each GET is answered with the visitor's place as it is then. Without JavaScript the
// page asks to be loaded again when the visitor's next poll is due. With it, the page
// goes on by itself: its script is clients/js and what stands in page.js. Its polls are answered as the API answers them, with
// a further member, html: the part "told" of page.html, rendered anew. The script puts the texts of that part in the place of
// those that are shown. So what a visitor is told is rendered in one place, here. The script itself writes the countdown to an
// opening, times in the visitor's time zone, the last minutes of a turn, and that the room does not answer.
//
// Either way the place is in a cookie of the page's own path: the clientId and the
// newest token. So a reload, a second tab, a crash or a restart of the browser show the
// same place. The script writes the cookie, too, so it is not HttpOnly; no other script
// runs on the page. A browser gets its clientId by a redirect before it joins, so that tabs which
// are opened together take one place, and a browser that keeps no cookies takes none. It is told so; its script
// takes a place that is given up with the page.
//
// # Where it leads
//
// When it is the visitor's turn, the page leads to the address in `to`, with the pass in
// the query (PassParameter). A path belongs to the first site of the zone's settings, or to
// the page's own origin if the settings have no site. A whole address is used only if its
// origin is among those sites. Anything else leads to the front page of the first site: there
// is no way to have the page lead elsewhere.
//
// # What it loads
//
// One document, with style, script and texts in it: one request. Its policy forbids
// everything else (Content-Security-Policy). Texts are in locales, one file a language.
package page
