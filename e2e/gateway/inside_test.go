package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	visitor "github.com/openqueue/waitingroom/client"
	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// crowdSize is how many visitors come to TestInside: VISITORS, or few.
func crowdSize(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("VISITORS"), "200"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fullShop counts the people who are in it, as a shop does: from the first request until they have paid or gone.
type fullShop struct {
	mu        sync.Mutex
	in        map[string]bool
	most, all int
}

func (s *fullShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := r.URL.Query().Get("who")
	if r.URL.Path == "/thanks" {
		delete(s.in, who)
	} else if !s.in[who] {
		s.in[who] = true
		s.all++
		s.most = max(s.most, len(s.in))
	}
	_, _ = fmt.Fprint(w, "the shop")
}

// gone takes in that somebody has closed the tab.
func (s *fullShop) gone(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.in, who)
}

// flush has a Redis lose all data.
func flush(ctx context.Context, addr string) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c, "FLUSHALL\r\n")
	if err == nil {
		_, err = c.Read(make([]byte, 5)) // +OK
	}
	return errors.Join(err, c.Close())
}

// TestInside: a crowd behind nginx, of whom some never come, some leave the line and some close the tab, while Redis loses all data
// and later hangs. The shop itself never sees more people than the cap, and nobody who stays in the line loses the place.
func TestInside(t *testing.T) {
	t.Parallel()
	n := crowdSize(t)
	most := n * 3 / 20
	shop := &fullShop{in: map[string]bool{}}
	web := httptest.NewServer(shop)
	t.Cleanup(web.Close)
	f := startShopfrontOf(t, "nginx", shopAt("nginx", web.Listener.Addr().String()))
	z := zone.Defaults("SHOP")
	z.PerMinute, z.MaxInside, z.SessionSeconds, z.PassTTLSeconds, z.DonePaths = int64(6*n), int64(most), 60, 10, []string{"/thanks*"}
	f.server.Put(t, z)
	stay := 3 * time.Second
	if n >= 1000 {
		stay = time.Minute
	}
	var left, entered, unused, failed atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		dice := rand.New(rand.NewPCG(uint64(i), 7))
		all.Go(func() {
			ctx := t.Context()
			<-time.After(time.Duration(dice.Int64N(int64(5 * time.Second))))
			c, who := newClient(t, f.addr), fmt.Sprint(i)
			o := visitor.Options{URL: f.server.Public, Zone: "SHOP", ClientID: "visitor-" + who, HTTP: c.Client}
			if dice.IntN(100) < 35 {
				patience, cancel := context.WithTimeout(ctx, time.Duration(dice.Int64N(int64(5*stay))))
				defer cancel()
				o.OnUpdate = func(u visitor.Update) { o.Token = u.Token }
				a, err := visitor.Wait(patience, o)
				if err != nil {
					_ = visitor.Leave(ctx, o)
					left.Add(1)
					return
				}
				o.Token = a.Token
			}
			a, err := visitor.Wait(ctx, o)
			if err != nil {
				failed.Add(1)
				t.Errorf("%s: %v", who, err)
				return
			}
			if dice.IntN(10) == 0 {
				unused.Add(1)
				return
			}
			entered.Add(1)
			until := time.Now().Add(min(6*stay, max(stay/3, time.Duration(dice.ExpFloat64()*float64(stay)))))
			for at := "/?waiting_room_pass=" + a.Pass + "&who=" + who; ; at = "/?who=" + who {
				r := c.open(at)
				for r.Header.Get("Location") != "" {
					if at = r.Header.Get("Location"); strings.HasPrefix(at, c.url+"/wait/") {
						shop.gone(who)
						return // the pass was too old when it came, or the session is over
					}
					r = c.open(at)
				}
				left := time.Until(until)
				if left <= 0 {
					break
				}
				<-time.After(min(left, time.Second))
			}
			if dice.IntN(10) > 0 {
				c.open("/thanks?who=" + who)
			}
			shop.gone(who)
		})
	}
	trouble := make(chan struct{})
	go func() {
		defer close(trouble)
		wait := func(entries int64) {
			for entered.Load() < entries && t.Context().Err() == nil {
				<-time.After(50 * time.Millisecond)
			}
		}
		wait(int64(n / 8))
		if err := flush(t.Context(), f.redis.Addr()); err != nil {
			t.Error(err)
		}
		wait(int64(n / 4))
		f.redis.Signal(syscall.SIGSTOP)
		<-time.After(4 * time.Second)
		f.redis.Signal(syscall.SIGCONT)
	}()
	began := time.Now()
	end := make(chan struct{})
	go func() {
		all.Wait()
		close(end)
	}()
	var counted, of float64 // while somebody waits, from the first time that it is full
	for over := false; !over; {
		select {
		case <-end:
			over = true
		case <-time.After(500 * time.Millisecond):
			s := room.Request(t, http.MethodGet, f.server.Operators+"/admin/zones/SHOP/stats", "", "Authorization", "Bearer "+room.OperatorToken)
			var now struct {
				Waiting float64 `json:"waiting"`
				Inside  float64 `json:"inside"`
			}
			if err := json.Unmarshal([]byte(s.Body), &now); err != nil || s.Status != http.StatusOK {
				continue // Redis hangs
			}
			if now.Inside > float64(most) {
				t.Errorf("the store counts %v inside, at most %d may be", now.Inside, most)
			}
			if now.Waiting > 0 && (of > 0 || now.Inside == float64(most)) {
				counted, of = counted+now.Inside, of+float64(most)
			}
		}
	}
	<-trouble
	t.Logf("while somebody waited, %.1f %% of the cap were in use; %s", 100*counted/max(1, of), room.Machine())
	t.Logf("%d came in %v, at most %d inside: %d entered, of whom the shop saw %d; %d did not use the pass, %d left the line. In the shop were at most %d people",
		n, time.Since(began).Round(time.Second), most, entered.Load(), shop.all, unused.Load(), left.Load(), shop.most)
	if shop.most > most {
		t.Errorf("%d people were in the shop, at most %d may be; %s", shop.most, most, room.Machine())
	}
	if shop.most < most/2 || failed.Load() > 0 {
		t.Errorf("%d people at most were in the shop, and %d lost their place", shop.most, failed.Load())
	}
}
