// Package gateway has no code: its tests put the nginx and the Caddy of deploy, which users copy, before a site and
// before a service.
package gateway
