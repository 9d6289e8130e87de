// Package edge has no code: its tests run clients/edge on workerd, the runtime of Cloudflare Workers, before a cache and a shop, with
// a real room behind it.
package edge
