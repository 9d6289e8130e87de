// Package operator is the room in which operators make, change, watch and
// delete zones. Its handlers belong on the operators' listener, never on the
// public one, and all of them behind Access.Guard.
//
//	GET    /admin/zones                   Service.List
//	GET    /admin/zones/{zoneId}          Service.Get
//	PUT    /admin/zones/{zoneId}          Service.Put      all of it; what is left out is set to its default
//	PATCH  /admin/zones/{zoneId}          Service.Patch    what is given; the rest stays
//	DELETE /admin/zones/{zoneId}          Service.Delete
//	GET    /admin/zones/{zoneId}/stats    Service.Stats    now, and the rates of the last minute
//	GET    /admin/zones/{zoneId}/history  Service.History  the last hour, second by second
//	GET    /admin/audit                   Service.Recorded who changed what: ?zoneId= or ?policy=, and ?limit=
//	GET    /admin/audit/verify            Service.Verify   whether somebody has tampered with the record: ?record=
//	GET    /admin/audit/export            Service.Verify   all entries of a record, as they are kept
//
// The console (package console) calls the same Service, and changes zones by Replace: it has
// read the forms itself.
//
// A zone comes with its version, as an ETag. A change with If-Match is made only
// if the zone still has it, one with If-None-Match: * only if there is no such
// zone; else it is refused, and nothing is changed.
//
// A change is made as a whole, or refused as a whole with every fault listed.
// An unknown name is a fault, so that a typo does not leave a setting at its default.
//
// Whoever makes a change has a name for the record of changes: that of their token, or with the root token
// the one of the header X-Operator. The store keeps the record, in one step with the change itself.
package operator
