package address_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/limits/address"
)

func TestKey(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"203.0.113.9":          "ip:203.0.113.9",
		"::ffff:203.0.113.9":   "ip:203.0.113.9",
		"2001:db8:1:2:3:4:5:6": "ip:2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::1": "ip:2001:db8:1:2::/64",
		"fe80::1%eth0":         "ip:fe80::/64",
		// Behind a translator (RFC 6052) each IPv4 address is another subscriber.
		"64:ff9b::203.0.113.9":    "ip:203.0.113.9",
		"64:ff9b::cb00:710a":      "ip:203.0.113.10",
		"64:ff9b:1::203.0.113.9":  "ip:64:ff9b:1::/64",
		"":                        "ip:unknown",
		"@":                       "ip:unknown",
		"203.0.113.9, 10.0.0.1":   "ip:unknown",
		strings.Repeat("9", 5000): "ip:unknown",
	} {
		if got := address.Key(from); got != want {
			t.Errorf("%q: %q, want %q", from, got, want)
		}
	}
}

// TestAddressIsNotChosenByTheClient: whatever the client writes, the entry counts that
// the first trusted proxy added.
func TestAddressIsNotChosenByTheClient(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	for _, tt := range []struct {
		remote, forwarded, want string
	}{
		{"198.51.100.7:1", "203.0.113.9", "198.51.100.7"}, // nobody whom to believe
		{"192.0.2.1:1", "203.0.113.9", "203.0.113.9"},
		{"192.0.2.1:1", "1.1.1.1, 203.0.113.9", "203.0.113.9"},
		{"192.0.2.1:1", "1.1.1.1, 203.0.113.9, 192.0.2.8", "203.0.113.9"},
		{"192.0.2.1:1", "192.0.2.9,203.0.113.9 ,192.0.2.8", "203.0.113.9"},
		{"192.0.2.1:1", "192.0.2.9, 192.0.2.8", "192.0.2.9"}, // all of them proxies: the farthest
		{"192.0.2.1:1", "", "192.0.2.1"},
		{"192.0.2.1:1", "203.0.113.9, garbage", "192.0.2.1"},
		{"192.0.2.1:1", "garbage, 203.0.113.9", "203.0.113.9"},
		{"[2001:db8::1]:1", "[2001:470::9]", "2001:470::9"},
		{"[::ffff:192.0.2.1]:1", "203.0.113.9", "203.0.113.9"},
		{"@", "203.0.113.9", "@"},
		// Some gateways add the port.
		{"192.0.2.1:1", "203.0.113.9:49152", "203.0.113.9"},
		{"192.0.2.1:1", "1.1.1.1:1, 203.0.113.9:49152, 192.0.2.8:443", "203.0.113.9"},
		{"192.0.2.1:1", "[2001:470::9]:49152", "2001:470::9"},
		{"192.0.2.1:1", "203.0.113.9:port", "192.0.2.1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = tt.remote
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		if got := address.Finder(trusted)(r); got != tt.want {
			t.Errorf("%s, %q: %s, want %s", tt.remote, tt.forwarded, got, tt.want)
		}
		a, told := address.Told(r, trusted)
		if want := !strings.HasPrefix(tt.remote, tt.want) && !strings.HasPrefix(tt.remote, "["+tt.want); told != want || told && a.String() != tt.want {
			t.Errorf("%s, %q: told %s %v, want %v", tt.remote, tt.forwarded, a, told, want)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header = http.Header{"X-Forwarded-For": {"1.1.1.1", "203.0.113.9"}, "X-Real-Ip": {"8.8.8.8"}}
	if got := address.Finder(trusted)(r); got != "203.0.113.9" {
		t.Errorf("of two fields: %s", got)
	}
}

func ExampleKey() {
	fmt.Println(address.Key("203.0.113.9"))
	fmt.Println(address.Key("2001:db8:1:2:3:4:5:6"))
	// Output:
	// ip:203.0.113.9
	// ip:2001:db8:1:2::/64
}
