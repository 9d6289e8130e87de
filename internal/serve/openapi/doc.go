// Package openapi is the description of the API: one OpenAPI 3.0 document for
// each listener, which that listener serves.
//
//	public/openapi.yaml      for those who build apps, gateways and services
//	operators/openapi.yaml   for those who operate zones
//	limits/openapi.yaml      for services and gateways that ask about limits
//	site/openapi.yaml        for gateways in front of a site
//
// GET /openapi.yaml answers with the file, byte for byte.
//
// There are several documents rather than one with tags, since the public listener must
// not tell the operators' routes. So each document is served as it is written.
//
// Package openapitest checks every answer of the tests against them. Only it can read
// OpenAPI; this package, and so the server, only sends bytes.
package openapi
