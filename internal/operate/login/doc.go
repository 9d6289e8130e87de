// Package login is how people prove who they are to somebody else than this server: to the OpenID Connect provider of their company, or to
// a proxy in front of the operators' listener.
//
//	groups.go    Groups: which group has which role in which zones
//	provider.go  Provider: log in to the console by OpenID Connect
//	proxy.go     Proxy: identities in headers of a proxy
//
// Both say who somebody is and in which groups; the configuration file says what a group may. Nobody without such a group gets in.
package login
