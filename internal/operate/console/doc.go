// Package console is the operators' console in the browser. It belongs on the
// operators' listener, never on the public one. Console.Handler has its routes.
//
// # What is shown
//
// All figures come from the samples of package watch and from package limiter, and are turned into text in one place (texts,
// rowTexts), for the page as for each second after it: the page's script puts text into elements and knows nothing of limits.
// Each console that is open gets an event a second, which asks the store for nothing.
// What an event of a zone does next is told by the zone's settings and the store's clock (watch.Clock).
//
// # What is changed
//
// Zones are. A change is a GET that says what it will do and a POST that does it. The form between them holds what the operator
// saw; if that is no longer so, nothing is changed. An undo is such a change, from the new value of an entry of the record to
// the old one: nobody undoes unseen what somebody else did. A form has a field for each setting of zone.Table. Every form works
// without scripts; the scripts (assets/*.js) show confirmations in a dialog, bring figures up to date and draw charts.
//
// # What protects it
//
// The session is a cookie, HttpOnly and SameSite=Strict, that package people signs. It ends with the token that it
// was begun with. Package login has those who come from a provider or by a proxy. Each page and form has the role that it needs (roles). Cross-origin requests are refused. The Content-Security-Policy of every
// answer allows only this server's scripts, and no inline script. Wrong tokens at the log in are slowed down; the number of
// streams is bounded.
package console
