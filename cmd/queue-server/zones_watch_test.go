package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

func TestWatchPlain(t *testing.T) {
	c := newClerk(t)
	for range 61 {
		request(t, http.MethodPost, c.public+"/traffic/wait", `{"zoneId":"TICKETS"}`)
	}
	got := c.types(t, "zones", "watch", "TICKETS", "--every=100ms", "--count=3")
	rows := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	row := regexp.MustCompile(`^\d\d:\d\d:\d\d  TICKETS  queue +0 +61/60 +61/600  100 % +0 s +\S+ +\S+ +0$`)
	if got.status != cli.ExitOK || got.errOut != "" || len(rows) != 4 || strings.Contains(got.out, "\x1b") ||
		!regexp.MustCompile(`^\d\d:\d\d:\d\d +ZONE +STATE +WAITING +WINDOW +IN 60 S +USE +ESTIMATE +JOINS/M +POLLS/S +OVERDUE$`).MatchString(rows[0]) {
		t.Fatalf("%+v", got)
	}
	for _, text := range rows[1:] {
		if !row.MatchString(text) || len(text) != len(rows[0]) {
			t.Errorf("row %q\nbelow %q", text, rows[0])
		}
	}
}
