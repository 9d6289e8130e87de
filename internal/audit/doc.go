// Package audit is who made a change, and how that was proven.
//
//	by.go     By: who, how proven, from which address, by which way; Event, an entry of the operators' record
package audit
