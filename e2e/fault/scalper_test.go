package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/serve/secret"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The scalper has so many addresses, and works for so long without challenges and with them. mostPlaces is what it may take in a minute by
// one core: 60 by a core like that on which the work was measured, and twice as many by a faster one.
const (
	scalperAddresses        = 1_000
	scalperFree, scalperPay = 5 * time.Second, 30 * time.Second
	mostPlaces              = 120
	browsers                = 1_000
)

// TestScalper: a program with one core and 1,000 addresses takes places as fast as it can, as a new visitor each time, in a zone without a
// challenge and in one with work of 1 s. It does what a good program would: it keeps its connection, asks, solves as fast as Go does, and joins.
// Meanwhile 1,000 honest browsers join. Their work is done elsewhere, as it is in reality: the test signs easier challenges for them.
func TestScalper(t *testing.T) {
	t.Parallel()
	s := room.Start(t, map[string]string{"QUEUE_TRUSTED_PROXIES": "127.0.0.0/8"})
	z := busy("SALE")
	z.PerMinute = 0
	s.Put(t, z)
	free := scalp(t, s, scalperFree)

	s.Operate(t, http.MethodPatch, "/admin/zones/SALE", `{"challenge":"work","challengeMillis":1000}`)
	room.Await(t, "the server asks for work", func() bool {
		d, err := joins(t.Context(), s, nil, "198.51.100.1", "nobody", "")
		return err == nil && d.Challenge != nil
	})
	var honest sync.WaitGroup
	var took []time.Duration
	honest.Go(func() { took = browse(t, s) })
	paid := scalp(t, s, scalperPay)
	honest.Wait()

	slices.Sort(took)
	freely, places := float64(free)/scalperFree.Minutes(), float64(paid)/scalperPay.Minutes()
	t.Logf("the scalper takes %.0f places a minute without a challenge, %.0f with work of 1 s; %d honest browsers: the server takes %v in the median, %v at p99; %s",
		freely, places, len(took), took[len(took)/2], took[len(took)*99/100], room.Machine())
	if places > mostPlaces || places > freely/20 {
		t.Errorf("%.0f places a minute with work, at most %d wanted, and a twentieth of %.0f", places, mostPlaces, freely)
	}
	if len(took) != browsers {
		t.Errorf("%d of %d honest browsers got places", len(took), browsers)
	}
}

// neighbours is how many visitors come from a network each while a scalper joins by 1,000 addresses of one /64, share the most of the line
// that the network gets, in per cent.
const (
	neighbours = 2_000
	share      = 5
)

// TestScalperInOneNetwork: a program has all addresses of one /64 to choose from, and joins at two servers as a new visitor each time, as
// fast as it can. It gets its network's share of the line, and everybody else gets a place.
func TestScalperInOneNetwork(t *testing.T) {
	t.Parallel()
	store := map[string]string{"QUEUE_STORE": "redis", "QUEUE_REDIS_URL": room.StartRedis(t).URL(), "QUEUE_TRUSTED_PROXIES": "127.0.0.0/8"}
	servers := []*room.Server{room.Start(t, store), room.Start(t, store)}
	z := busy("SALE")
	z.PerMinute, z.MaxShareByNetwork, z.IdleTimeoutSeconds = 0, share, zone.MaxIdleTimeoutSeconds
	servers[0].Put(t, z, servers[1])
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var scalping sync.WaitGroup
	places, refused := 0, 0
	scalping.Go(func() {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		for n := 0; ctx.Err() == nil; n++ {
			d, err := joins(ctx, servers[n%2], client, fmt.Sprintf("2001:db8:ffff:1::%x", n%scalperAddresses), fmt.Sprint("scalper-", n), "")
			switch {
			case ctx.Err() != nil:
			case err != nil:
				t.Error(err)
				return
			case d.Token != "":
				places++
			case d.Code == "network_share":
				refused++
			}
		}
	})
	for n := range neighbours {
		room.Await(t, "a visitor of another network gets a place", func() bool {
			d, err := joins(t.Context(), servers[n%2], nil, fmt.Sprintf("2001:db8:%x::1", n), fmt.Sprint("neighbour-", n), "")
			if d.Code == "network_share" {
				t.Errorf("visitor %d is refused for the network", n)
			}
			return err == nil && (d.Token != "" || d.Code == "network_share")
		})
	}
	end()
	scalping.Wait()

	most := (places+neighbours)*share/100 + len(servers)*network.Floor
	t.Logf("the scalper takes %d of %d places, and is refused %d times; %s", places, places+neighbours, refused, room.Machine())
	if places > most || refused == 0 {
		t.Errorf("%d places for a network that may have %d, %d joins refused", places, most, refused)
	}
	var counted, of int64
	for _, s := range servers {
		var listed network.List
		if err := json.Unmarshal([]byte(s.Operate(t, http.MethodGet, "/admin/zones/SALE/networks?limit=1", "").Body), &listed); err != nil {
			t.Fatal(err)
		}
		counted, of = counted+listed.Joins, of+listed.Networks[0].Joins
		if listed.Networks[0].Network != "2001:db8:ffff::/48" { // the widest of those that count its joins
			t.Errorf("the largest network is %+v", listed.Networks[0])
		}
	}
	// The scalper's last join may have been counted, and its answer not read.
	if counted > int64(places+neighbours+1) || of > int64(places+1) {
		t.Errorf("the servers counted %d joins, %d of them of the scalper's network", counted, of)
	}
}

// joins asks for a place from an address, with a solution or "".
func joins(ctx context.Context, s *room.Server, client *http.Client, from, who, shown string) (room.Answer, error) {
	_, told, err := room.Join(ctx, client, s.Public, "SALE", map[string]string{"clientId": who, "challenge": shown}, "X-Forwarded-For", from)
	return told, err
}

// scalp takes places for a while, by one goroutine, and returns how many.
func scalp(t *testing.T, s *room.Server, span time.Duration) (places int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ctx, end := context.WithTimeout(t.Context(), span)
	defer end()
	for n := 0; ctx.Err() == nil; n++ {
		from, who := fmt.Sprintf("198.18.%d.%d", n%scalperAddresses/250, n%scalperAddresses%250), fmt.Sprintf("scalper-%v-%d", span, n)
		d, err := joins(ctx, s, client, from, who, "")
		if err == nil && d.Challenge != nil {
			var shown string
			if shown, err = challenge.Solve(ctx, *d.Challenge.Work); err == nil {
				d, err = joins(ctx, s, client, from, who, shown)
			}
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			t.Error(err)
			return places
		case d.Token != "":
			places++
		}
	}
	return places
}

// browse has the honest browsers join, evenly in the time that the scalper has, and returns how long the server took for those who got a place.
func browse(t *testing.T, s *room.Server) (took []time.Duration) {
	t.Helper()
	secrets, err := secret.Parse(room.Secret)
	if err != nil {
		t.Error(err)
		return nil
	}
	keys, err := token.NewKeys(secrets...)
	if err != nil {
		t.Error(err)
		return nil
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	every := time.NewTicker(scalperPay / browsers)
	defer every.Stop()
	for n := range browsers {
		<-every.C
		from, who := fmt.Sprintf("203.0.%d.%d", n/250, n%250), fmt.Sprint("browser-", n)
		began := time.Now()
		d, err := joins(t.Context(), s, client, from, who, "")
		asking := time.Since(began)
		if err != nil || d.Challenge == nil {
			t.Errorf("%s: %+v, %v", who, d, err)
			return took
		}
		w := *d.Challenge.Work
		w.Parameters.KeyPrefix = "0"
		text, err := json.Marshal(w.Parameters)
		if err != nil {
			t.Error(err)
			return took
		}
		w.Signature = keys.SignChallenge("SALE", string(text))
		shown, err := challenge.Solve(t.Context(), w)
		if err != nil {
			t.Error(err)
			return took
		}
		began = time.Now()
		if d, err = joins(t.Context(), s, client, from, who, shown); err == nil && d.Token != "" {
			took = append(took, asking+time.Since(began))
		}
	}
	return took
}
