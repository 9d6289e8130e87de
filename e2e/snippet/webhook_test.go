package snippet

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

// startReceiver starts the receiver of docs/integrate/webhooks.md. It returns where it listens, and what it prints.
func startReceiver(t *testing.T, secret string) (addr string, printed <-chan string) {
	t.Helper()
	shown := regexp.MustCompile("(?s)\n```python\n(.*?)\n```\n").FindStringSubmatch(room.Read(t, "../../docs/integrate/webhooks.md"))
	if shown == nil {
		t.Fatal("docs/integrate/webhooks.md has no program")
	}
	program := filepath.Join(t.TempDir(), "receiver.py")
	room.Write(t, program, shown[1])
	addr = room.FreeAddr(t)
	cmd := exec.CommandContext(t.Context(), "python3", program)
	cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret, "PORT="+addr[strings.LastIndexByte(addr, ':')+1:])
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() { _ = cmd.Wait() }) // its context has ended
	room.Await(t, "the receiver", func() bool {
		_, err := room.Ask(t.Context(), http.DefaultClient, http.MethodPost, "http://"+addr, "{}")
		return err == nil
	})
	return addr, lines
}

// TestWebhookReceiver: a visitor falls silent, and the receiver of the page is told when the turn is near and when it came, over a restart of the
// server. What nobody has signed is refused.
func TestWebhookReceiver(t *testing.T) {
	t.Parallel()
	const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazzNr8YK9mY="
	addr, printed := startReceiver(t, secret)
	if got := room.Request(t, http.MethodPost, "http://"+addr, `{"type":"place.turn"}`, "webhook-id", "msg_1", "webhook-signature", "v1,AAAA"); got.Status != http.StatusUnauthorized {
		t.Errorf("a forged call got %d", got.Status)
	}
	hooks := filepath.Join(t.TempDir(), "webhooks.yaml")
	room.Write(t, hooks, fmt.Sprintf("- {name: shop, url: 'http://%s/', secret: %q, events: [place.soon, place.turn, zone.changed], privateNetworks: [127.0.0.0/8]}", addr, secret))
	r := room.Start(t, map[string]string{
		"QUEUE_STORE": "redis", "QUEUE_REDIS_URL": room.StartRedis(t).URL(), "QUEUE_DOOR_LIMITS": "off", "QUEUE_WEBHOOKS": hooks, "QUEUE_SWEEP_EVERY": "1s",
		"QUEUE_CONFIG": room.Config(t, "zones: [{zoneId: SHOP, perMinute: 1, windowSeconds: 60, idleTimeoutSeconds: 5, soonSeconds: 3600}]"),
	})
	join := func() (token, ref string) {
		got := room.Request(t, http.MethodPost, r.Public+"/traffic/wait", `{"zoneId":"SHOP"}`)
		token, _ = got.Value(t, "token").(string)
		ref, _ = got.Value(t, "placeId").(string)
		return token, ref
	}
	var awake []string
	for range 9 { // the first is admitted, and the others poll
		token, _ := join()
		awake = append(awake, token)
	}
	_, asleep := join()
	// expect polls for all who are awake until a line has all texts. It returns the lines before it.
	expect := func(texts ...string) (before []string) {
		t.Helper()
		for deadline := time.After(room.Patience); ; {
			select {
			case line := <-printed:
				has := true
				for _, text := range texts {
					has = has && strings.Contains(line, text)
				}
				if has {
					return before
				}
				before = append(before, line)
			case <-time.After(time.Second):
				for _, token := range awake {
					_, _ = room.Ask(t.Context(), http.DefaultClient, http.MethodPost, r.Public+"/traffic/entry", fmt.Sprintf(`{"zoneId":"SHOP","token":%q}`, token))
				}
			case <-deadline:
				t.Fatalf("%v was not printed; but %q", texts, before)
			}
		}
	}
	expect("place.soon", asleep)
	r.Stop(t)
	r.Start(t)
	r.AwaitReady(t)
	if got := r.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":60000}`); got.Status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	expect("zone.changed", "perMinute 1 -> 60000")
	awake = nil // all go; so nobody waits before the place that is set aside
	for _, line := range expect("place.turn") {
		if strings.Contains(line, "place.soon") && strings.Contains(line, asleep) {
			t.Errorf("it was told again: %s", line)
		}
	}
}
