package audit

import (
	"strings"
)

// Proof is how a name was proven.
type Proof string

// The proofs. What the server does by itself has none, nor has what a version before 0.2.0 recorded.
const (
	Root  Proof = "root"  // the token that the server was started with: whoever has it may claim any name
	Token Proof = "token" // a token of one's own
	OIDC  Proof = "oidc"  // a log in at the provider of QUEUE_OIDC_ISSUER
	Proxy Proof = "proxy" // a header of a proxy of QUEUE_ADMIN_PROXIES
)

// Via is the way by which a change came.
type Via string

// The ways.
const (
	ViaAPI     Via = "api"     // a call of the API by another program
	ViaCLI     Via = "cli"     // the command line, as it says itself
	ViaConsole Via = "console" // the pages in the browser
	ViaEvent   Via = "event"   // a step of an event, made by the server
	ViaFile    Via = "file"    // the configuration file of a server
	ViaPilot   Via = "pilot"   // a step of the autopilot, which the record of changes does not have
)

// Event is an entry of the record of the operators: what was done that changed no setting.
type Event struct {
	AtMillis int64 `json:"at" minimum:"1" maximum:"9007199254740991" doc:"When, in Unix milliseconds on the store's clock." example:"1795223373123"`
	By
	Did string `json:"did" enum:"created token|forgot pseudonyms|gave up place|revoked sessions|was refused|revoked token" doc:"What was done." example:"created token"`
	To  string `json:"to" maxLength:"200" doc:"To what: the token with its ID, the person, the call, the zone with a reference or a day." example:"anna 4f1c09ae52 operator"`
}

// Refused is what Event.Did says of a refusal.
const Refused = "was refused"

// SplitRefusals splits events into those of the records Operators and Refusals.
func SplitRefusals(events []Event) (others, refusals []Event) {
	for _, e := range events {
		if e.Did == Refused {
			refusals = append(refusals, e)
		} else {
			others = append(others, e)
		}
	}
	return others, refusals
}

// By is who made a change. The zero By is nobody who is known.
type By struct {
	// Name has at most zone.MaxByLength bytes.
	Name    string `json:"by" maxLength:"64" doc:"Who. With the proof root the name is claimed: X-Operator said it. QUEUE_CONFIG: the server's configuration." example:"anna"`
	Proof   Proof  `json:"proof,omitempty" enum:"oidc|proxy|root|token" doc:"How the name was proven; absent for what the server did by itself, and before version 0.2.0." example:"token"`
	ProofID string `json:"proofId,omitempty" maxLength:"255" doc:"The ID of the token, or the subject at the provider." example:"4f1c09ae52"`
	Address string `json:"address,omitempty" maxLength:"64" doc:"The address that the change came from." example:"203.0.113.9"`
	Via     Via    `json:"via,omitempty" enum:"api|cli|console|event|file" doc:"The way by which the change came." example:"cli"`
}

// Who is the name; that of root as a claim.
func (b By) Who() string {
	if b.Proof == Root {
		return b.Name + " (claimed)"
	}
	return b.Name
}

// How says how the name was proven, from which address and by which way: "token 4f1c09ae52, 203.0.113.9, cli".
func (b By) How() string {
	var parts []string
	for _, part := range []string{strings.TrimSpace(string(b.Proof) + " " + b.ProofID), b.Address, string(b.Via)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
