package gateway

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const here = "http://127.0.0.1:8000"
	err := Check([]Site{{Host: "shop.example", Path: "checkout", Zone: "A", Upstream: "shop"}, {Upstream: here}, {Zone: "A", Upstream: here}, {Host: "a:80", Zone: "A", Upstream: here}})
	for _, want := range []string{
		`site 1: upstream "shop" is no address`, `path "checkout" is no path`, `site 2: zone ""`, `site 3: "/" is there twice`, `site 4: host "a:80" is no name`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if err := Check([]Site{{Zone: "A", Upstream: here}, {Path: "/shop/", Zone: "A", Upstream: here}}); err != nil {
		t.Error(err)
	}
}
