package conformance

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// secret is that of the stores whose records are tampered with.
var secret = []byte("a secret of thirty-two bytes or more")

// NewSealer is the Sealer of a server that has just been started, as Tampered wants it.
func NewSealer() *audit.Sealer { return audit.NewSealer(audit.Options{Secrets: [][]byte{secret}}) }

// whole reads all of a record.
func whole(t TB, s store.Editor, name string) audit.Page {
	t.Helper()
	p, err := audit.ReadWhole(func(skip int) (audit.Page, error) { return s.Record(t.Context(), name, skip) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tampered is what somebody does to a record with seven entries, of which the seventh is the newest and stands first.
var tampered = map[string]struct {
	do   func(p *audit.Page, other audit.Page)
	want string
}{
	"nothing": {func(*audit.Page, audit.Page) {}, ""},
	"an entry is edited": {func(p *audit.Page, _ audit.Page) {
		p.Entries[3] = strings.Replace(p.Entries[3], `"perMinute":4`, `"perMinute":9`, 1)
	}, "entry 4, which stands where entry 4 belongs, is not as a server of this room sealed it"},
	"who made an entry is changed": {func(p *audit.Page, _ audit.Page) {
		p.Entries[0] = strings.Replace(p.Entries[0], `"by":"ada"`, `"by":"bob"`, 1)
	}, "entry 7, which stands where entry 7 belongs"},
	"the time of an entry is changed": {func(p *audit.Page, _ audit.Page) {
		p.Entries[6] = strings.Replace(p.Entries[6], `"at":1`, `"at":2`, 1)
	}, "entry 1, which stands where entry 1 belongs"},
	"an entry in the middle is taken out": {func(p *audit.Page, _ audit.Page) {
		p.Entries = slices.Delete(p.Entries, 3, 4)
	}, "entries 4 to 4 were taken out"},
	"the newest are taken out": {func(p *audit.Page, _ audit.Page) {
		p.Entries = p.Entries[2:]
	}, "entries 6 to 7 were taken out"},
	"the newest are taken out with the head": {func(p *audit.Page, _ audit.Page) {
		p.Entries, p.Head = p.Entries[2:], ""
	}, "the record has no head that a secret of this server has sealed"},
	"the oldest are taken out": {func(p *audit.Page, _ audit.Page) {
		p.Entries = p.Entries[:5]
	}, "entries 1 to 2 were taken out"},
	"all are taken out": {func(p *audit.Page, _ audit.Page) {
		p.Entries = nil
	}, "entries 1 to 7 were taken out"},
	"two change places": {func(p *audit.Page, _ audit.Page) {
		p.Entries[2], p.Entries[3] = p.Entries[3], p.Entries[2]
	}, "entries 5 to 5 were taken out; entry 5 stands in a wrong place: after entry 4"},
	"one is put in": {func(p *audit.Page, _ audit.Page) {
		p.Entries = slices.Insert(p.Entries, 3, strings.Replace(p.Entries[3], `"n":4`, `"n":5`, 1))
	}, "entry 5, which stands where entry 4 belongs"},
	"one is put in without a seal": {func(p *audit.Page, _ audit.Page) {
		p.Entries = slices.Insert(p.Entries, 3, `{"format":1,"at":7,"by":"ada","was":null,"now":null}`)
	}, "entry 0, which stands where entry 4 belongs"},
	"one is put in below the first": {func(p *audit.Page, _ audit.Page) {
		p.Entries = append(p.Entries, `{"format":1,"at":7,"by":"ada","was":null,"now":null}`)
	}, "without a seal is not the one over which entry 1 was sealed"},
	"one is copied from another zone": {func(p *audit.Page, other audit.Page) {
		p.Entries[3] = other.Entries[3]
	}, "entry 4, which stands where entry 4 belongs"},
	"all are of another zone": {func(p *audit.Page, other audit.Page) {
		*p = other
	}, "the record has no head that a secret of this server has sealed"},
	"one is sealed by another secret": {func(p *audit.Page, _ audit.Page) {
		forger := audit.NewSealer(audit.Options{})
		a, _ := forger.Compose("a", audit.Tail{AtMillis: 1}, zone.Change{ZoneID: "a"})
		p.Entries, p.Head = append([]string{a.Text}, p.Entries...), a.Next
	}, "the record has no head that a secret of this server has sealed"},
	"a large value is changed": {func(p *audit.Page, _ audit.Page) {
		for hash, text := range p.Texts {
			p.Texts[hash] = strings.Replace(text, "a", "b", 1)
		}
	}, "a large value of entry 7 was changed or taken out"},
	"a large value is taken out": {func(p *audit.Page, _ audit.Page) {
		clear(p.Texts)
	}, "a large value of entry 7 was changed or taken out"},
}

// Tampered has records tampered with, and found to be. replace puts a page in the place of a whole record, as somebody does who
// can write to the store.
func Tampered(t *testing.T, s store.Store, clock *Clock, replace func(t *testing.T, name string, p audit.Page)) {
	t.Helper()
	for _, zoneID := range []string{"a", "b"} {
		z := zone.Defaults(zoneID)
		z.PageLogo = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte("<svg/>"+strings.Repeat(" ", 2<<10)))
		for i := range int64(7) {
			z.PerMinute = i + 1
			if _, err := s.PutZone(t.Context(), z, nil, who("ada")); err != nil {
				t.Fatal(err)
			}
			clock.Add(time.Second)
		}
	}
	kept, other := whole(t, s, "a"), whole(t, s, "b")
	for name, tt := range tampered {
		p := audit.Page{Head: kept.Head, Entries: slices.Clone(kept.Entries), Texts: map[string]string{}}
		maps.Copy(p.Texts, kept.Texts)
		tt.do(&p, other)
		replace(t, "a", p)
		var faults []string
		for _, f := range NewSealer().Check("a", whole(t, s, "a")).Faults {
			faults = append(faults, f.What)
		}
		if got := strings.Join(faults, "; "); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
