package serve

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ByHeader is the header in which whoever makes a change with the root token gives a name for the record of changes. The name is
// claimed: anybody who has the root token may give any.
const ByHeader = "X-Operator"

// CLIAgent is the User-Agent of the command line.
const CLIAgent = "queue-server-cli"

// byKey is where a request's context has who makes a change.
type byKey struct{}

// WithBy returns the request of a change that somebody makes.
func WithBy(r *http.Request, by audit.By) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), byKey{}, by))
}

// By returns who makes a change: whom WithBy was given.
func By(ctx context.Context) audit.By {
	by, _ := ctx.Value(byKey{}).(audit.By)
	return by
}

// ReadBy returns who makes a change. Where the proof of a request has no name, the name is the one that the request claims in ByHeader; "" if
// it has none. It returns a *FieldError for a name that zone.CheckBy refuses, or for two names.
func ReadBy(r *http.Request, by audit.By) (audit.By, error) {
	values := r.Header.Values(ByHeader)
	if by.Name != "" || len(values) == 0 {
		return by, nil
	}
	if len(values) > 1 {
		return by, &FieldError{Field: ByHeader, Reason: "is given twice"}
	}
	if err := zone.CheckBy(values[0]); err != nil {
		return by, &FieldError{Field: ByHeader, Reason: err.Error()}
	}
	by.Name = values[0]
	return by, nil
}

// versionBytes is how many bytes of a SHA-256 name a text: two texts do not have the same
// 128 bits by chance.
const versionBytes = 16

// Version returns the ETag of a text, quotes included, as a strong validator (RFC 9110,
// section 8.8.3). The same text has the same version on every server, another text has
// another.
func Version(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:versionBytes]) + `"`
}

// Condition says when a change may be made: the fields If-Match and If-None-Match of
// its request (RFC 9110, section 13.1). The zero value allows every change.
type Condition struct {
	IfMatch     string `json:"If-Match" doc:"The ETag of what is to be changed, as you have seen it; 412, and no change, if it is not that any more." example:"\"Zr3C0Fv0dXkq3yq1c1wM7g\""`
	IfNoneMatch string `json:"If-None-Match" doc:"* makes one only if there is none of that name; else 412, and no change." example:"*"`
}

// ConditionOf reads the condition of a request. If-None-Match is compared weakly (section
// 13.1.2), so each W/ in it is left out. No Version has a W/ or a comma in it.
func ConditionOf(h http.Header) Condition {
	return Condition{
		IfMatch:     strings.Join(h.Values("If-Match"), ","),
		IfNoneMatch: strings.ReplaceAll(strings.Join(h.Values("If-None-Match"), ","), "W/", ""),
	}
}

// Allows reports whether a thing of this version may be changed; "" is the version of a
// thing that does not exist.
func (c Condition) Allows(version string) bool {
	return (c.IfMatch == "" || named(c.IfMatch, version)) && (c.IfNoneMatch == "" || !named(c.IfNoneMatch, version))
}

// named reports whether a list of versions, or *, names this one. * names all that exist.
func named(list, version string) bool {
	if version == "" {
		return false
	}
	for each := range strings.SplitSeq(list, ",") {
		if each = strings.TrimSpace(each); each == "*" || each == version {
			return true
		}
	}
	return false
}
