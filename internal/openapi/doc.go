// Package openapi is the description of the API: one OpenAPI 3.0 document for each listener, which that listener serves at
// GET /openapi.yaml.
//
//	public/openapi.yaml  for those who build apps, gateways and services: written by hand
//	site/openapi.yaml    for gateways in front of a site: written by hand
//	operators.go         for those who operate zones: made from the tables of routes, see package route
//	limits.go            for services and gateways that ask about limits: made from the table of routes
//	zone.go              schemas that come from tables: a zone's settings, totals, outcomes
//
// There are several documents rather than one with tags, since the public listener must not tell the operators' routes.
//
// Package openapitest checks every answer of the tests against them. Only it can read OpenAPI; the server writes it.
package openapi
