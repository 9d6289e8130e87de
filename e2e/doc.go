// Package e2e has no code: it is the map of a module of its own, that tests the product
// from outside, as its users meet it. Servers are processes, browsers and gateways are real
// ones, and no other module needs their libraries. make e2e runs all of it, one package at
// a time, for many tests judge real time.
//
//	room      starts queue-server, for the tests of all others
//	browser   the waiting page, the console and a shop behind the gate, in Chromium
//	fault     breaks Redis, servers and connections under a crowd; gateways; live alerts
//	snippet   runs the programs that documents show
//	client    the JavaScript client, in node
//	loadtest  the visitors of loadtest/k6, in k6
//	release   what is shipped: the Debian package, the bill of materials, the image
package e2e
