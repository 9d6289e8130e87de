// Package console is the operators' console in the browser: it belongs on the
// operators' listener, never on the public one.
package console
