// Package e2e has no code: it is the map of a module of its own, that tests the product
// from outside, as its users meet it. Servers are processes, browsers and gateways are real
// ones, and no other module needs their libraries. make e2e runs all of it, one package at
// a time, for many tests judge real time.
//
//	terraform what instances of deploy/terraform run: Redis with Sentinel, a server, its secrets
//	room      starts queue-server and other programs, for the tests of all others
//	browser   the waiting page, the console and a shop behind the gate, in Chromium
//	gateway   nginx and Caddy as deploy shows them, before a site and before a service
//	container the Helm chart on a real Kubernetes API server, the gateways there, and compose
//	fault     breaks Redis, servers and connections under a crowd; Prometheus looks on
//	snippet   runs the programs that documents show
//	client    the clients: JavaScript in node, Java, as a release packs them
//	edge      the gate at a CDN's edge, on the runtime of Cloudflare Workers
//	loadtest  the crowds of a load test in k6, judged
//	release   what is shipped: the Debian package, the bill of materials, the image
//
// Waits for something real are bounded by minutes. Where a test fails that judges real time, it says
// what it saw of the machine.
package e2e
