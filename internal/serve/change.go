package serve

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/openqueue/waitingroom/internal/zone"
)

// ByHeader is the header in which whoever makes a change gives a name for the
// record of changes. It proves nothing: all operators have one token.
const ByHeader = "X-Operator"

// ReadBy returns the name that a request gives in ByHeader; "" if it gives none.
// It returns a *FieldError for what can be no name.
func ReadBy(r *http.Request) (string, error) {
	values := r.Header.Values(ByHeader)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", &FieldError{Field: ByHeader, Reason: "is given twice"}
	}
	if err := zone.CheckBy(values[0]); err != nil {
		return "", &FieldError{Field: ByHeader, Reason: err.Error()}
	}
	return values[0], nil
}

// versionBytes of a SHA-256 name a text: 128 bits meet no other by chance.
const versionBytes = 16

// Version names a text: only the same text has the same version, on every server. It
// is what an ETag holds, quotes included, as a strong validator (RFC 9110, section
// 8.8.3).
func Version(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:versionBytes]) + `"`
}

// Condition is when a change may be made: the fields If-Match and If-None-Match
// of its request (RFC 9110, section 13.1). The zero value always allows it.
type Condition struct{ IfMatch, IfNoneMatch string }

// ConditionOf reads when a change may be made. If-None-Match is by weak comparison
// (section 13.1.2), so its marks of weakness are left out. No version here holds one,
// nor a comma.
func ConditionOf(h http.Header) Condition {
	return Condition{
		IfMatch:     strings.Join(h.Values("If-Match"), ","),
		IfNoneMatch: strings.ReplaceAll(strings.Join(h.Values("If-None-Match"), ","), "W/", ""),
	}
}

// Allows reports whether what has this version may be changed; "" is what is not
// there.
func (c Condition) Allows(version string) bool {
	return (c.IfMatch == "" || named(c.IfMatch, version)) && (c.IfNoneMatch == "" || !named(c.IfNoneMatch, version))
}

// named reports whether a list of versions, or *, names this one.
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
