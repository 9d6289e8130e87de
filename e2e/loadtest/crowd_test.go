package loadtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// perMinute are the scenarios of the folder k6, and the limit of the zone of each at size 1.
var perMinute = map[string]int64{
	"burst":     4500, // 450 in any 6 s: 1,500 wait for some 20 s and come again
	"surge":     1800,
	"leavers":   1000,
	"tunnel":    1115, // 112 in any 6 s: the tenth window of a minute finds five fewer
	"impatient": 600,
	"fault":     1500,
	"event":     2000,
}

// What the variables of the environment ask for; make loadtest sets them.
const (
	askOnly  = "LOADTEST_ONLY"  // scenarios, separated by commas
	askStore = "LOADTEST_STORE" // embedded or redis; both at once if empty
	askSize  = "LOADTEST_SIZE"  // crowds, and limits with them, so many times larger
	askStory = "LOADTEST_STORY" // the file of a story that was written elsewhere
)

// cutShare is how many requests of the scenario fault are cut.
const cutShare = 0.05

// scenario is one of them on one store.
type scenario struct {
	name, store string
	size        float64
}

func (s scenario) zone() zone.Settings {
	z := zone.Defaults("LOAD_" + strings.ToUpper(s.name))
	z.PerMinute = int64(float64(perMinute[s.name]) * s.size)
	return z
}

// TestCrowds sends the crowds that are asked for through servers of their own, one scenario after the other; small ones where
// nothing is asked for. Where the machine was too busy to play a crowd, only what is exact is held.
func TestCrowds(t *testing.T) {
	stores, size := []string{os.Getenv(askStore)}, 1.0
	if stores[0] == "" {
		stores = []string{"embedded", "redis"}
	}
	if text := os.Getenv(askSize); text != "" {
		var err error
		if size, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatalf("%s: %v", askSize, err)
		}
	}
	var all []scenario
	for name := range strings.SplitSeq(os.Getenv(askOnly), ",") {
		if name != "" && perMinute[name] == 0 {
			t.Fatalf("%s: there is no scenario %s", askOnly, name)
		}
		for _, store := range stores {
			all = append(all, scenario{name, store, size})
		}
	}
	if os.Getenv(askOnly) == "" {
		all = []scenario{{"event", "embedded", 0.1}, {"burst", "redis", 0.1}}
	}
	var found table
	for some := range slices.Chunk(all, len(stores)) {
		t.Run("crowd", func(t *testing.T) {
			for _, s := range some {
				t.Run(s.name+" on "+s.store, func(t *testing.T) {
					t.Parallel()
					s.play(t, &found)
				})
			}
		})
	}
	t.Logf("what the crowds saw; orders are in windows' worth, times of requests are k6's:\n%s", found.text())
}

// play sends the crowd to a server of its own, before a Redis of its own if it is on that store, and behind a proxy that
// cuts if the scenario wants it; and judges what it saw.
func (s scenario) play(t *testing.T, found *table) {
	t.Helper()
	z := s.zone()
	env := map[string]string{
		"QUEUE_STORE": s.store, "QUEUE_DOOR_LIMITS": "off",
		"QUEUE_CONFIG": room.Config(t, fmt.Sprintf("zones: [{zoneId: %s, perMinute: %d, events: [%s]}]\n", z.ZoneID, z.PerMinute, s.events(z))),
	}
	if s.name == "impatient" { // the one whose visitors come from an address each, and are limited by it
		delete(env, "QUEUE_DOOR_LIMITS")
		env["QUEUE_TRUSTED_PROXIES"] = "127.0.0.1/32"
	}
	if s.store == "redis" {
		env["QUEUE_REDIS_URL"] = room.StartRedis(t).URL()
	}
	server := room.Start(t, env)
	url := server.Public
	if s.name == "fault" {
		addr, err := startCutter(t.Context(), strings.TrimPrefix(url, "http://"), cutShare)
		if err != nil {
			t.Fatal(err)
		}
		url = "http://" + addr
	}
	// A store that is new takes its window for full, since it might have lost what was in it: the crowd comes when that is over.
	<-time.After(z.Window() + time.Second)
	story, crossed := s.runK6(t, url)
	v := Judge(story, z, nil)
	var counts Counts
	process.Soon(t.Context(), time.Minute, time.Second, func() bool {
		counts = countsOf(t, server, z.ZoneID)
		return counts == Counts{int64(v.Came), int64(v.In)}
	})
	v = Judge(story, z, &counts)
	found.add(s, v)
	report(t, story, v, crossed)
	if s.name == "event" {
		unnumbered := 0
		for _, o := range story.Visitors {
			if o.Asked[0].Position == 0 {
				unnumbered++
			}
		}
		if story.Opens == 0 || unnumbered < v.Came*9/10 {
			t.Errorf("it opened after %d ms; %d of %d had no number at first", story.Opens, unnumbered, v.Came)
		}
	}
}

// excusable are k6's complaints that a busy machine may be to blame for: latencies, arrivals that were late, answers that did
// not come in time.
var excusable = []string{
	"threshold wait_duration", "threshold entry_duration", "threshold join_from_intended", "threshold from_intended",
	"threshold dropped_iterations", "threshold unanswered",
}

// report fails the test for what was broken.
func report(t *testing.T, story *Story, v *Verdict, crossed []string) {
	t.Helper()
	busy := v.Strained > mostStrained
	say := func(excused bool, format string, a ...any) {
		if excused {
			t.Logf("the machine was too busy to show it (%s of the requests were half a second late or more): "+format, append([]any{exactly(v.Strained)}, a...)...)
			return
		}
		t.Errorf(format, a...)
	}
	for _, f := range v.Findings {
		if !f.Kept {
			say(busy && !f.Exact, "%s: %s, wanted %s", f.Promise, f.Measured, f.Wanted)
		}
	}
	for _, c := range crossed {
		say(busy && slices.ContainsFunc(excusable, func(e string) bool { return strings.HasPrefix(c, e) }), "k6: %s", c)
	}
	if t.Failed() {
		t.Log(strings.Join(story.Remarks[:min(3, len(story.Remarks))], "\n"))
	}
}

// gatherSeconds is how long people gather, drawSeconds how long before the opening the draw closes: as late as may be.
const gatherSeconds, drawSeconds = 10, 25

// events are those of the zone: people gather when the store has been up for a window.
func (s scenario) events(z zone.Settings) string {
	if s.name != "event" {
		return ""
	}
	gathers := time.Now().Add(z.Window() + 3*time.Second).UTC().Truncate(time.Second)
	return fmt.Sprintf("{name: noon, order: draw, drawClosesSeconds: %d, preQueueAt: %s, opensAt: %s}", drawSeconds,
		gathers.Format(time.RFC3339), gathers.Add((gatherSeconds+drawSeconds)*time.Second).Format(time.RFC3339))
}

// countsOf are the server's own counts of a zone.
func countsOf(t *testing.T, server *room.Server, zoneID string) Counts {
	t.Helper()
	var stats struct {
		Totals Counts `json:"totals"`
	}
	if err := json.Unmarshal([]byte(server.Admin(t, http.MethodGet, "/admin/zones/"+zoneID+"/stats", "").Body), &stats); err != nil {
		t.Fatal(err)
	}
	return stats.Totals
}

var (
	// scriptError begins what k6 says of an exception.
	scriptError = regexp.MustCompile(`^(\w*Error): `)
	// crossedMetrics are the metrics of which k6 itself says that thresholds were crossed.
	crossedMetrics = regexp.MustCompile(`thresholds on metrics '(.*)' have been crossed`)
)

// runK6 runs the scenario, with some variables, against a public listener; crossed are the lines in which its summary says what failed.
func (s scenario) runK6(t *testing.T, url string, env ...string) (story *Story, crossed []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "story.ndjson")
	cmd := exec.CommandContext(t.Context(), room.Tool(t, "K6"), "run", "--no-usage-report", "--quiet", "--log-format", "raw",
		// Without an address k6 listens for nobody: two at once would want the same.
		"--address", "", "--console-output", file, filepath.Join(scripts, s.name+".js"))
	z := s.zone()
	cmd.Env = append(append(os.Environ(), env...), "BASE_URL="+url, "ZONE_ID="+z.ZoneID,
		"PER_MINUTE="+strconv.FormatInt(z.PerMinute, 10), "SIZE="+strconv.FormatFloat(s.size, 'g', -1, 64))
	said, err := cmd.CombinedOutput()
	for l := range strings.Lines(string(said)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(l), "FAILED"); ok {
			crossed = append(crossed, strings.TrimSpace(text))
		}
		// A visitor whose script fails is silent, which k6 does not mind.
		if wrong := "the script: " + strings.TrimSpace(l); scriptError.MatchString(l) && !slices.Contains(crossed, wrong) {
			crossed = append(crossed, wrong)
		}
	}
	if m := crossedMetrics.FindSubmatch(said); m != nil {
		for name := range strings.SplitSeq(string(m[1]), ", ") {
			if !slices.ContainsFunc(crossed, func(c string) bool { return strings.HasPrefix(c, "threshold "+name) }) {
				crossed = append(crossed, "threshold "+name)
			}
		}
	}
	// 99 is k6's status for thresholds that were crossed: the summary says which.
	const thresholds = 99
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != thresholds || len(crossed) == 0) {
		t.Fatalf("k6: %v\n%s", err, said)
	}
	return readStory(t, file), crossed
}

func readStory(t *testing.T, name string) *Story {
	t.Helper()
	s, err := Read(strings.NewReader(room.Read(t, name)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// TestStory judges what k6 has written elsewhere (k6 run --console-output FILE), where the servers are elsewhere.
func TestStory(t *testing.T) {
	t.Parallel()
	file := os.Getenv(askStory)
	if file == "" {
		t.Skipf("%s names no file", askStory)
	}
	story := readStory(t, file)
	s := scenario{story.Scenario, "elsewhere", story.Size}
	v := Judge(story, s.zone(), nil)
	var found table
	found.add(s, v)
	t.Logf("what the crowd saw:\n%s", found.text())
	report(t, story, v, nil)
}

// table has a row for each crowd.
type table struct {
	mu   sync.Mutex
	rows []string
}

func (f *table) add(s scenario, v *Verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	z := s.zone()
	f.rows = append(f.rows, fmt.Sprintf("%s\t%s\t%d\t%d\t%d of %d\t%d of %d\t%.0f s\t%d\t%.2f, %.2f\t%s\t%s\t%d\t%v\t%v\n",
		s.name, s.store, v.Came, v.In, v.MostWindow, window.RatesOf(z).Limit, v.MostMinute, z.PerMinute, v.LongestWait.Seconds(), v.Lost,
		v.OvertakenP99, v.OvertakenMost, exactly(v.EstimateError), exactly(v.Capacity), v.Requests, v.P50, v.P99))
}

func (f *table) text() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "crowd\tstore\tcame\tlet in\tmost in a window\tmost in 60 s\tlongest wait\tlost\tovertaken p99, most\testimate off by\tcapacity used\trequests\tp50\tp99\n",
		strings.Join(f.rows, "")) // to memory
	_ = w.Flush()
	return text.String()
}
