// Package client has no code: its tests run the JavaScript client in node.
package client
