package loadtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The scripts' own checks, too, must be able to fail: a room that offends in one way
// each time is shown to them, and one that does not.

// offender is a room in which everybody waits for three polls, and then enters.
type offender struct {
	offence string
	mu      sync.Mutex
	// asked counts each token's polls, and tokens are known by clientId.
	asked  map[string]int
	tokens map[string]string
}

// admittedAt is when everybody is admitted.
const admittedAt = 1_795_000_000_000

func (o *offender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_, _ = w.Write([]byte(`{}`)) // k6 asks whether the zone is there
		return
	}
	var body struct {
		ZoneID   string `json:"zoneId"`
		Token    string `json:"token"`
		ClientID string `json:"clientId"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	token := body.Token
	if token == "" {
		if token = o.tokens[body.ClientID]; token == "" || o.offence == "another place for a repeated join" {
			token = strconv.Itoa(1_795_000_000_000_000 + 1000*len(o.asked)) // when it arrived
			o.tokens[body.ClientID] = token
		}
	}
	n := o.asked[token]
	o.asked[token]++
	o.answer(w, body.ZoneID, token, n)
}

func (o *offender) answer(w http.ResponseWriter, zoneID, token string, n int) {
	position, period, retry, pass, at := 10-min(n, 9), 100, "1", "a.b.c", int64(admittedAt)
	arrived, _ := strconv.Atoi(token)
	switch {
	case o.offence == "a position that rises" && n == 2:
		position = 10
	case o.offence == "another arrival":
		arrived += n
	case o.offence == "a Retry-After that is not the period":
		retry = "2"
	case o.offence == "a status" && n == 1:
		http.Error(w, "{}", http.StatusInternalServerError)
		return
	case o.offence == "no pass":
		pass = "none"
	case o.offence == "another admission":
		at += int64(n)
	case o.offence == "no answer" && n == 1:
		panic(http.ErrAbortHandler)
	}
	answer := map[string]any{"zoneId": zoneID, "token": token, "canEnter": n > 3}
	if n > 3 {
		answer["admission"] = map[string]any{"admittedAt": at, "expiresAt": at + 300_000, "pass": pass}
	} else {
		answer["canEnter"] = false
		w.Header().Set("Retry-After", retry)
		answer["waiting"] = map[string]any{
			"position": position, "total": 10, "estimatedWait": 1000, "pollingPeriod": period, "arrivedAtMicros": arrived,
		}
	}
	_ = json.NewEncoder(w).Encode(answer) // to k6, which says so if it does not come
}

// newSummary has k6 1 hand the summary over in the form that k6 2 has.
const newSummary = "K6_NEW_MACHINE_READABLE_SUMMARY=true"

// TestScriptsConvict: k6 names each offence that one visitor sees.
func TestScriptsConvict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		offence, script string
		// want begins one of the lines that tell what failed; "" when nothing may.
		want string
		env  string
	}{
		{"none", "burst", "", ""},
		{"none", "burst", "", newSummary},
		{"none", "impatient", "", ""},
		{"a position that rises", "burst", "position never rises:", ""},
		{"another arrival", "burst", "place is the same:", ""},
		{"another place for a repeated join", "impatient", "once in, always the same admission:", ""}, // each joins again then
		{"a Retry-After that is not the period", "burst", "Retry-After is the polling period:", ""},
		{"a status", "burst", "status is 200:", ""},
		{"no pass", "burst", "entry comes with a pass:", ""},
		{"another admission", "impatient", "once in, always the same admission:", ""},
		{"no answer", "burst", "threshold unanswered rate<=0.005", ""},
		{"no answer", "burst", "threshold unanswered", newSummary},
		{"a status", "burst", "status is 200:", newSummary},
	}
	for _, tt := range tests {
		t.Run(tt.script+": "+tt.offence+" "+tt.env, func(t *testing.T) {
			t.Parallel()
			room := httptest.NewServer(&offender{offence: tt.offence, asked: map[string]int{}, tokens: map[string]string{}})
			defer room.Close()
			_, crossed := scenario{name: tt.script, size: 0.01}.runK6(t, room.URL,
				"STAGE1_DURATION=1s", "STAGE2_DURATION=1s", "STAGE3_DURATION=3s", "STAGE4_DURATION=1s", tt.env)
			found := slices.ContainsFunc(crossed, func(line string) bool { return strings.HasPrefix(line, tt.want) })
			if tt.want == "" && len(crossed) > 0 || tt.want != "" && !found {
				t.Errorf("k6 found %q, want %q", crossed, tt.want)
			}
		})
	}
}
