package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

const (
	// masterName is what the sentinels call the master.
	masterName = "room"
	// nodePassword and sentinelPassword are what the nodes of Redis ask for, of each other too, and what the sentinels ask for.
	nodePassword, sentinelPassword = "of-redis", "of-the-sentinels"
)

// watched is a master, its replica, and the three sentinels that watch them.
type watched struct {
	master, replica *engine
	sentinels       [3]*engine
}

// startWatched starts them and waits until the sentinels know each other and
// the replica.
func startWatched(t *testing.T) *watched {
	t.Helper()
	auth := []string{"--requirepass", nodePassword, "--masterauth", nodePassword}
	w := &watched{master: newEngine(t, auth...)}
	w.master.password = nodePassword
	w.master.start(t)
	w.replica = startReplica(t, w.master, auth...)
	for i := range w.sentinels {
		e := newEngine(t)
		e.password = sentinelPassword
		file := filepath.Join(e.Dir, "sentinel.conf")
		if err := os.WriteFile(file, fmt.Appendf(nil, `port %d
bind 127.0.0.1
requirepass %s
sentinel monitor %s 127.0.0.1 %d 2
sentinel auth-pass %[3]s %[5]s
sentinel down-after-milliseconds %[3]s 1000
sentinel failover-timeout %[3]s 5000
`, e.Port, sentinelPassword, masterName, w.master.Port, nodePassword), 0o600); err != nil {
			t.Fatal(err)
		}
		e.Args = []string{file, "--sentinel"}
		w.sentinels[i] = e
		e.start(t)
	}
	room.Await(t, "the sentinels know each other and the replica", func() bool {
		for _, s := range w.sentinels {
			out, err := s.cli("SENTINEL", "MASTER", masterName)
			if err != nil || pair(out, "num-slaves") != "1" || pair(out, "num-other-sentinels") != "2" {
				return false
			}
		}
		return true
	})
	return w
}

// startReplica starts a replica and waits until it has what its master has.
func startReplica(t *testing.T, master *engine, args ...string) *engine {
	t.Helper()
	r := newEngine(t, append(args, "--replicaof", "127.0.0.1 "+strconv.Itoa(master.Port))...)
	r.password = master.password
	r.start(t)
	room.Await(t, "the replica is in step", func() bool {
		return r.info("replication", "master_link_status") == "up"
	})
	return r
}

// pair finds a value in a reply that redis-cli prints as names and values, a
// line each.
func pair(out, name string) string {
	lines := strings.Split(out, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		if lines[i] == name {
			return lines[i+1]
		}
	}
	return ""
}

// url is the master as queue-server finds it.
func (w *watched) url() string {
	addrs := make([]string, 0, len(w.sentinels))
	for _, s := range w.sentinels {
		addrs = append(addrs, s.Addr())
	}
	return "redis+sentinel://:" + nodePassword + "@" + strings.Join(addrs, ",") + "/" + masterName + "?sentinel_password=" + sentinelPassword
}

// awaitTakeover waits until the replica is the master, and returns when that
// was.
func (w *watched) awaitTakeover(t *testing.T) time.Time {
	t.Helper()
	room.Await(t, "the replica takes over", func() bool {
		return w.replica.info("replication", "role") == "master"
	})
	return time.Now()
}
