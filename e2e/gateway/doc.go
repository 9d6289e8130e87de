// Package gateway has no code: its tests put the nginx and the Caddy of deploy, which users copy, before a site and
// before a service, and queue-server itself before a site, alone and behind HAProxy and Apache.
package gateway
