// Package audit is who made a change, how that was proven, and the seal by which an edit of the record of changes shows.
//
//	by.go     By: who, how proven, from which address, by which way; Event, an entry of the operators' record
package audit
