package console

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sort"
	"strconv"
	"sync"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// drawBars is how many equal parts the range of a draw is shown in.
	drawBars = 20
	// drawParts is how many parts of a list are read at most: all of 131,072 tickets, and an
	// even choice of those of a million. 64 take some 60 ms, once.
	drawParts = 64
	// drawSpread is how many standard deviations a bar may be off: of a fair draw, with so many
	// bars, one in a thousand has a bar that is further off.
	drawSpread = 4.06
	// The picture's size, in its own units.
	drawWide, drawHigh = 400, 120
)

// drawView is what is known of an event's draw.
type drawView struct {
	schedule.Draw
	// List is where the list is.
	List  string
	Bars  []bar
	Title string
	// High is where the band begins in which bars of a fair draw end, from above, and Band how
	// high that is.
	High, Band float64
	Says       change.Says
}

// bar is how many numbers are of one part of the range.
type bar struct{ X, Y, Width, Height float64 }

// drawOf is what is known of the draw of an event; nil if it has none.
func (c *Console) drawOf(ctx context.Context, s zone.Settings, e event.Event) (*drawView, error) {
	d, err := c.Draws.Draw(ctx, s.ZoneID, e.Name)
	if errors.Is(err, schedule.ErrNoDraw) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &drawView{Draw: d, List: eventPath(s.ZoneID, e.Name) + "/draw"}
	if d.Seed == "" || d.Tickets == 0 {
		return v, nil
	}
	l, err := c.looked.look(ctx, c.Draws, d)
	if err != nil {
		return nil, err
	}
	v.picture(l)
	return v, nil
}

// drawJSON is GET .../schedule/{event}/draw: the draw, as everybody may see it.
func (c *Console) drawJSON(w http.ResponseWriter, r *http.Request, _ session) error {
	d, err := c.Draws.Draw(r.Context(), r.PathValue("zoneId"), r.PathValue("event"))
	return sendJSON(w, r, d, err)
}

// drawPart is GET .../schedule/{event}/draw/{part}: a part of its list.
func (c *Console) drawPart(w http.ResponseWriter, r *http.Request, _ session) error {
	p, err := c.Draws.Part(r.Context(), r.PathValue("zoneId"), r.PathValue("event"), r.PathValue("part"))
	return sendJSON(w, r, p, err)
}

// lookedAt is what a list says of its draw.
type lookedAt struct {
	// bars are how many numbers are of each part of the range.
	bars [drawBars]float64
	// looked tickets were looked at; astray of them do not stand where the seed says.
	looked, astray int
}

// looks remember what the latest draw's list said: it does not change.
type looks struct {
	mu     sync.Mutex
	nonce  string
	latest lookedAt
}

// look reads the list of a draw, one at a time.
func (l *looks) look(ctx context.Context, draws Draws, d schedule.Draw) (lookedAt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nonce == d.Nonce {
		return l.latest, nil
	}
	text, err := hex.DecodeString(d.Seed)
	if err != nil || len(text) != len(event.Seed{}) {
		return lookedAt{}, fmt.Errorf("console: seed of a draw: %d bytes, %w", len(text), err)
	}
	var at lookedAt
	// shares are where tickets lie in the range, from 0 to 1, ranks which number they have.
	shares, ranks := []float64{0}, []float64{0}
	var last int64
	step := max(1, float64(d.Parts)/drawParts)
	for part := 0.0; int(part) < d.Parts; part += step {
		p, err := draws.Part(ctx, d.ZoneID, d.Event, strconv.Itoa(int(part)+1))
		if err != nil {
			return lookedAt{}, err
		}
		for i, name := range p.Tickets {
			var ticket event.Ticket
			if n, err := hex.Decode(ticket[:], []byte(name)); err != nil || n != len(ticket) {
				return lookedAt{}, fmt.Errorf("console: ticket %q of a draw: %w", name, err)
			}
			score := d.Score(event.Seed(text), ticket)
			if at.looked++; score < last {
				at.astray++
				continue
			}
			last = score
			shares = append(shares, float64(score-d.FromMicros)/float64(d.UptoMicros-d.FromMicros))
			ranks = append(ranks, float64(p.First+i))
		}
	}
	shares, ranks = append(shares, 1), append(ranks, float64(d.Tickets))
	before := 0.0
	for i := range at.bars {
		upto := rankAt(shares, ranks, float64(i+1)/drawBars)
		at.bars[i], before = upto-before, upto
	}
	l.nonce, l.latest = d.Nonce, at
	return at, nil
}

// rankAt is how many tickets lie below a share: between two that follow each other, the first
// one's number; where parts were left out, as much of them as of the way.
func rankAt(shares, ranks []float64, share float64) float64 {
	i := sort.SearchFloat64s(shares, share)
	if i == len(shares) || share >= 1 {
		return ranks[len(ranks)-1]
	}
	gap := ranks[i] - ranks[i-1]
	if gap <= 1 {
		return ranks[i-1]
	}
	return ranks[i-1] + (gap-1)*(share-shares[i-1])/(shares[i]-shares[i-1])
}

// picture shows what was looked at.
func (v *drawView) picture(l lookedAt) {
	mean := float64(v.Tickets) / drawBars
	spread := drawSpread * math.Sqrt(mean*(1-1.0/drawBars))
	least, most := math.Inf(1), 0.0
	for _, n := range l.bars {
		least, most = min(least, n), max(most, n)
	}
	scale := drawHigh / max(most, mean+spread) / 1.1
	for i, n := range l.bars {
		const width = drawWide / drawBars
		v.Bars = append(v.Bars, bar{float64(i)*width + 1, drawHigh - n*scale, width - 2, n * scale})
	}
	low, high := max(0, mean-spread), mean+spread
	v.High, v.Band = drawHigh-high*scale, (high-low)*scale
	whole := func(n float64) string { return count(int64(math.Round(n))) }
	v.Title = fmt.Sprintf("Numbers drawn, by twentieths of the range: %s to %s each", whole(least), whole(most))
	if least < math.Floor(low) || most > math.Ceil(high) {
		v.Says.Warn("Each twentieth of the range should have %s to %s of the %s numbers; they have %s to %s.",
			whole(low), whole(high), count(int64(v.Tickets)), whole(least), whole(most))
	} else {
		v.Says.Add("Uniform: each twentieth of the range has %s to %s of the %s numbers; a fair draw gives %s to %s.",
			whole(least), whole(most), count(int64(v.Tickets)), whole(low), whole(high))
	}
	switch {
	case l.astray > 0:
		v.Says.Warn("%s of %s tickets do not stand where the seed says.", count(int64(l.astray)), count(int64(l.looked)))
	case l.looked < v.Tickets:
		v.Says.Add("The order is as the seed says, as far as was looked: %s tickets.", count(int64(l.looked)))
	default:
		v.Says.Add("The order is as the seed says: all %s tickets.", count(int64(v.Tickets)))
	}
}
