// Package openapitest holds answers against the documents of package openapi.
// For tests only: no other code may import it, and no other package kin-openapi
// (see internal/check/architecture).
//
// Put it between a test and what it asks:
//
//	h = openapitest.Public.Handler(t, h)                    // before a handler
//	client.Transport = openapitest.Public.Transport(t, rt)  // behind a client
//	err := openapitest.Public.Check(ctx, exchange)          // after the fact
//
// An answer fails the test if its status, its code, its media type or a field of
// its body is not described, or not as described, or if a header is missing or not
// as described; and if a request that the server accepted is not one that the
// document allows.
//
// And the reverse: the rooms' tests end with Document.Main, which wants every
// answer that is described to have been got.
//
// Answers may gain fields some day, so the documents leave their schemas open,
// and generated clients do not break. Here the same schemas are closed: what is
// not yet described is found.
package openapitest
