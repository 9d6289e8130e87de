// Package console is the operators' console in the browser. It belongs on the
// operators' listener, never on the public one.
//
// Console.Handler has its routes.
//
// # What is shown
//
// All figures come from the samples of package watch, and are turned into text
// in one place (texts), for the page as for each second after it: the page's
// script puts text into elements and knows nothing of limits. An event is made
// once a second for each console that is open, and asks the store for nothing but
// whether the session was logged out. Measured (50 zones, 100 policies): a console of one zone
// costs 0.007 % of a core, the page of all zones 0.1 %, that of all policies 0.1 %.
//
// Limits come from package limiter in the same way, and are of the server that
// answers.
//
// # What is changed
//
// Zones are. A change is a GET that says what it will do and a POST that does it. The form
// between them holds what the operator saw; if that is no longer so, nothing is
// changed and the page says who was faster. An undo is such a change, from the
// new value of an entry of the record to the old one. So nobody undoes the work
// of somebody else unseen. A form has a field for each setting of zone.Table, whatever the setting is. Policies of limits are
// changed by the command line and the API.
//
// # Events
//
// What an event does next is told by the zone's settings and the store's clock (watch.Clock), so
// its stream asks nothing of the store, and the page's script counts down by that clock. The
// list is a setting, and changes as others do; a step is held or moved, and the event opened or cancelled, by the
// operators' service, if its time is still what the operator saw.
//
// # Without scripts
//
// Every form works without scripts. The scripts (assets/*.js) show confirmations in a dialog, update the figures every
// second and draw charts.
//
// # What protects it
//
// The session is a cookie, HttpOnly and SameSite=Strict, signed with a key that is derived from the server's secret and the
// operators' token: a new token ends all sessions. Cross-origin requests are refused. The Content-Security-Policy of every
// answer allows only this server's scripts, and no inline script. Wrong tokens at the log in are slowed down; the number of
// streams is bounded.
package console
