// Package client has no code: its tests run the JavaScript client in node, that for Java, and the Python client of docs/integrate/clients.md.
package client
