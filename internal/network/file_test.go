package network_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/zone"
)

func provider(number uint32, name string) record {
	return record{"autonomous_system_number": number, "autonomous_system_organization": name}
}

// open reads a database with two providers, and a network of nobody's.
func open(t *testing.T) *network.File {
	t.Helper()
	f, err := network.OpenFile(writeDatabase(t, map[string]record{
		"198.51.100.0/22": provider(64500, "Example Mobile"), "2001:db8::/32": provider(64501, "A provider with a name that is longer than most names"),
		"192.0.2.0/24": {},
	}))
	parts.Must(t, err)
	return f
}

// TestProviders: with a file, joins count for the provider, too. maxShareByNetwork bounds providers and each /64, and a /24 only
// if its provider is unknown.
func TestProviders(t *testing.T) {
	t.Parallel()
	f := open(t)
	for name, tt := range map[string]struct {
		change func(*zone.Settings)
		from   []string
		want   int
	}{
		"a provider, with two /24":       {atMost(5), []string{"198.51.100.1", "198.51.101.1"}, 100},
		"a provider, with two /64":       {atMost(5), []string{"2001:db8::1", "2001:db8:0:1::1"}, 100},
		"one /64 of a large provider":    {atMost(5, "AS64501=50"), []string{"2001:db8::1"}, 100},
		"one /24 of a large provider":    {atMost(5, "AS64500=50"), []string{"198.51.100.1"}, 1_900},
		"one /24 that has its own share": {atMost(5, "AS64500=50", "198.51.100.0/24=1"), []string{"198.51.100.1"}, network.Floor},
		"a provider that is refused":     {atMost(5, "AS64500=0"), []string{"198.51.100.1"}, 0},
		"a /24 of nobody's":              {atMost(5), []string{"192.0.2.1"}, 100},
		"a /24 that is not in the file":  {atMost(5), []string{"203.0.113.1"}, 100},
	} {
		s := newServer(f, tt.change)
		for range 1_900 {
			s.join("") // by an address that is not known
		}
		got := 0
		for i := range 4_000 {
			if s.join(tt.from[i%len(tt.from)]) {
				got++
			}
		}
		if got != tt.want {
			t.Errorf("%s: %d places, want %d", name, got, tt.want)
		}
	}
	s := newServer(f, atMost(0))
	s.join("198.51.100.1")
	if all, rows := s.all(); all.Joins != 1 || len(rows) != 2 || s.of("AS64500").Name != "Example Mobile" || s.of("198.51.100.0/24").Joins != 1 {
		t.Errorf("%+v %+v", all, rows)
	}
}

// TestFileIsReadAnew: a file that changes is read within a minute. One that is half written is said, leaves the one before in use,
// and is read once it is complete, also if its time is the same. The one before stays when the file is gone, too.
func TestFileIsReadAnew(t *testing.T) {
	t.Parallel()
	name := writeDatabase(t, map[string]record{"203.0.113.0/24": provider(64500, "Before")})
	after, err := os.ReadFile(writeDatabase(t, map[string]record{"203.0.113.0/24": provider(64511, "After")}))
	parts.Must(t, err)
	written := time.UnixMilli(1_795_223_373_000)
	write := func(text []byte) {
		parts.Must(t, os.WriteFile(name, text, 0o600))
		parts.Must(t, os.Chtimes(name, written, written))
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f, err := network.OpenFile(name)
		parts.Must(t, err)
		s := &server{Shares: network.New(f, slog.New(slog.NewTextHandler(&log, nil)), time.Now), zone: zone.Defaults(sale)}
		s.Start(t.Context())
		defer s.Stop()
		write(after[:len(after)/2])
		<-time.After(2*time.Minute + time.Second)
		synctest.Wait()
		if s.join("203.0.113.1"); s.of("AS64500").Joins != 1 || strings.Count(log.String(), "cannot be read anew") != 2 {
			t.Errorf("a file that is cut off: %+v, %s", s.of("AS64500"), &log)
		}
		write(after)
		<-time.After(time.Minute)
		synctest.Wait()
		if s.join("203.0.113.1"); s.of("AS64511").Joins != 1 {
			t.Errorf("the new file is not read: %s", &log)
		}
		parts.Must(t, os.Remove(name))
		<-time.After(time.Minute)
		synctest.Wait()
		if s.join("203.0.113.1"); s.of("AS64511").Joins != 2 || strings.Count(log.String(), "cannot be read anew") != 2 {
			t.Errorf("without the file: %+v, %s", s.of("AS64511"), &log)
		}
	})
}

// TestFilesThatAreNone: with a word of what is wrong.
func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken.mmdb")
	parts.Must(t, os.WriteFile(broken, []byte("no database"), 0o600))
	for name, want := range map[string]string{
		broken: "broken.mmdb",
		filepath.Join(t.TempDir(), "absent.mmdb"):                                                    "no such file",
		writeDatabase(t, map[string]record{"203.0.113.0/24": {"country": "DE"}, "192.0.2.0/24": {}}): "must be a database of AS numbers",
	} {
		if _, err := network.OpenFile(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestIPinfo: its files have the number in a text.
func TestIPinfo(t *testing.T) {
	t.Parallel()
	f, err := network.OpenFile(writeDatabase(t, map[string]record{"198.51.100.0/22": {"asn": "AS64500", "as_name": "Example Mobile"}}))
	parts.Must(t, err)
	s := newServer(f, atMost(5, "AS64500=0"))
	for range 1_900 {
		s.join("")
	}
	if s.join("198.51.100.1") {
		t.Error("a network of a provider that is refused got a place")
	}
	if _, err := network.OpenFile(writeDatabase(t, map[string]record{"198.51.100.0/22": {"asn": "Example"}})); err == nil {
		t.Error("a file without a number is taken")
	}
}
