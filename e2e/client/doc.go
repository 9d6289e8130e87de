// Package client has no code: its tests run the JavaScript client in node, the library for Java as a release packs it, and the Python client of docs/integrate/clients.md.
package client
