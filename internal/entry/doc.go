// Package entry is the room in which a visitor polls a place until admitted.
//
//	POST /traffic/entry           Service.Poll  still waiting, or in
//	GET  /.well-known/jwks.json                 the keys that passes verify with
//
// A poll whose token is not genuine never reaches the store. service.go
// decides, http.go translates; package problem turns errors into documents.
package entry
