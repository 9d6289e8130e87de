// Package openapi is the API, described: one OpenAPI 3.0 document for each
// listener, which that listener serves.
//
//	public/openapi.yaml      for those who build apps, gateways and services
//	operators/openapi.yaml   for those who operate zones
//	limits/openapi.yaml      for services and gateways that ask about limits
//	site/openapi.yaml        for gateways in front of a site
//
//	GET /openapi.yaml        the file, byte for byte
//	GET /openapi.json        the same, for tools that read no YAML
//
// Several documents rather than one with tags: what the public listener tells must
// not name the operators' routes, and what is served is then what was written.
//
// Package openapitest holds every answer of the tests against them. It alone
// knows how to read OpenAPI; this package, hence the server, only sends bytes.
package openapi
