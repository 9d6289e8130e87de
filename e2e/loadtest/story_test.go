package loadtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrStory is wrapped by the error for a story that cannot be judged.
var ErrStory = errors.New("no story")

// Promises are the bounds of a scenario that no visitor can check alone.
type Promises struct {
	// OvertakenP99 and OvertakenMost are by how many later arrivals those may be
	// overtaken who poll when told to: one of a hundred, and anybody, in windows'
	// worth.
	OvertakenP99  float64 `json:"overtakenP99"`
	OvertakenMost float64 `json:"overtakenMost"`
	// EstimateError is the most that the median of |told - real| / real may be.
	EstimateError float64 `json:"estimateError"`
	// CapacityUsed is the least share of the places that must be taken while two
	// windows' worth of visitors wait.
	CapacityUsed float64 `json:"capacityUsed"`
	// FirstWindows is the least share of the first two windows after the opening of an
	// event; 0 where there is none.
	FirstWindows float64 `json:"firstWindows,omitempty"`
	// EverybodyIn: nobody who did not leave may still wait at the end.
	EverybodyIn bool `json:"everybodyIn"`
}

// Story is what the visitors of one run saw.
type Story struct {
	Scenario string `json:"scenario"`
	ZoneID   string `json:"zoneId"`
	// Began is when, in Unix milliseconds on k6's clock. All times of visitors
	// are milliseconds since then.
	Began    int64     `json:"began"`
	Size     float64   `json:"size"`
	Promises *Promises `json:"promises"`
	// Opens is when the event opens for which the crowd gathers, since Began; 0 for none.
	Opens    int64     `json:"opens,omitempty"`
	Visitors []Visitor `json:"-"`
	// Remarks are lines that are no part of the story: what k6 has to say of wrong
	// answers and of faults of the script.
	Remarks []string `json:"-"`
}

// The ends of a visitor's story.
const (
	endIn      = "in"
	endLeft    = "left"
	endWaiting = "waiting"
	endLost    = "lost"
)

// Visitor is one of the crowd.
type Visitor struct {
	Name string `json:"visitor"`
	// End is in, left, waiting (went home when the run was over) or lost.
	End string `json:"end"`
	// Arrived is the place in Unix microseconds, 0 if never told, or any number that a draw
	// gave instead; Admitted in Unix milliseconds, 0 if not admitted. Both on the store's clock.
	Arrived  int64 `json:"arrived"`
	Admitted int64 `json:"admitted"`
	// Dark is from when to when the visitor was silent on purpose.
	Dark  *[2]int64 `json:"dark"`
	Asked []Request `json:"asked"`
}

// Kinds of request.
const (
	join = iota
	poll
	repeat // of either, which nobody asked for
)

// Request is one request and its answer. Times are in milliseconds.
type Request struct {
	Kind int
	// Due is when it was to be sent, Sent when it was; Took is until the answer.
	Due, Sent, Took int64
	// Status is HTTP's, 0 for no answer.
	Status int
	// Position, Estimate and Period are what the visitor was told; 0 if nothing.
	Position, Estimate, Period int64
}

// UnmarshalJSON reads [kind, due, sent, took, status, position, estimate, period].
func (r *Request) UnmarshalJSON(text []byte) error {
	var all []int64
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	const fields = 8
	if len(all) != fields || all[0] < join || all[0] > repeat {
		return fmt.Errorf("%w: request %s", ErrStory, text)
	}
	*r = Request{int(all[0]), all[1], all[2], all[3], int(all[4]), all[5], all[6], all[7]}
	return nil
}

// answered reports whether the request got what it asked for.
func (r Request) answered() bool { return r.Status == http.StatusOK }

// told is when the answer was there.
func (r Request) told() int64 { return r.Sent + r.Took }

// lineBytes bounds a visitor's line: one who polls three times a second for ten
// minutes has some 100 KB to tell.
const lineBytes = 4 << 20

// Read reads a story: its head first, then one line a visitor, in any order.
func Read(from io.Reader) (*Story, error) {
	var s *Story
	var early []string
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, lineBytes)
	for lines.Scan() {
		text := lines.Text()
		switch {
		case text == "":
		case !strings.HasPrefix(text, "{"):
			early = append(early, text)
		case s == nil:
			s = &Story{}
			if err := json.Unmarshal([]byte(text), s); err != nil {
				return nil, fmt.Errorf("%w: its head: %w", ErrStory, err)
			}
			if s.Scenario == "" || s.ZoneID == "" || s.Began == 0 || s.Promises == nil {
				return nil, fmt.Errorf("%w: its head names no scenario, zone, time or promises: %s", ErrStory, text)
			}
		default:
			var v Visitor
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				return nil, fmt.Errorf("%w: a visitor: %w", ErrStory, err)
			}
			if v.Name == "" || len(v.Asked) == 0 {
				return nil, fmt.Errorf("%w: a visitor without name or requests: %s", ErrStory, text)
			}
			s.Visitors = append(s.Visitors, v)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStory, err)
	}
	if s == nil {
		return nil, fmt.Errorf("%w: it is empty; %s", ErrStory, strings.Join(early, "; "))
	}
	s.Remarks = early
	return s, nil
}
