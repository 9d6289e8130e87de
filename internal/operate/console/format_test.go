package console

import (
	_ "embed"
	"strings"
	"testing"
	"time"
)

// formerSession is the cookie that the server of commit 8df832c gave on 2026-11-22 to
// Ada, with this secret and operators' token.
//
//go:embed testdata/8df832c.session
var formerSession string

var formerSecret = []byte("most-secret-of-all-the-secrets-0042")

const formerToken = "the-operators-token-of-fixtures"

// TestFormerSession: who is logged in stays so when servers are upgraded. A session's
// format is named in sessionLabel, which goes into its key: one of a newer version
// opens nowhere else, and its operator logs in again.
func TestFormerSession(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_795_324_846_100)
	g := newSessions(formerToken, [][]byte{newSecret, formerSecret}, func() time.Time { return at })
	s, ok := g.open(strings.TrimSpace(formerSession))
	if !ok || s.who != "Ada" || s.expires.Unix() != at.Add(sessionAge).Unix() {
		t.Errorf("%+v, %t", s, ok)
	}
	if !strings.HasSuffix(sessionLabel, " v1") {
		t.Errorf("%q names another version: make the fixture anew with the one before", sessionLabel)
	}
}
