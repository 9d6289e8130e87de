// Package client has no code: its tests run the JavaScript client in node, and that for Java.
package client
