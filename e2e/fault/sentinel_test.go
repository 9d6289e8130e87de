package fault

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// masterName is what the sentinels call the master.
const masterName = "room"

// watched is a master, its replica, and the three sentinels that watch them.
type watched struct {
	master, replica *engine
	sentinels       [3]*engine
}

// startWatched starts them and waits until the sentinels know each other and
// the replica.
func startWatched(t testing.TB) *watched {
	t.Helper()
	w := &watched{master: startEngine(t)}
	w.replica = startReplica(t, w.master)
	for i := range w.sentinels {
		port, dir := freePort(t), t.TempDir()
		config := writeFile(t, dir, "sentinel.conf", fmt.Sprintf(`port %d
bind 127.0.0.1
sentinel monitor %s 127.0.0.1 %d 2
sentinel down-after-milliseconds %[2]s 1000
sentinel failover-timeout %[2]s 5000
`, port, masterName, w.master.port))
		w.sentinels[i] = &engine{child: newChild(t, "redis-server", dir, config, "--sentinel"), port: port}
		w.sentinels[i].start(t)
	}
	await(t, startTimeout, "the sentinels know each other and the replica", func() bool {
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
func startReplica(t testing.TB, master *engine) *engine {
	t.Helper()
	r := startEngine(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(master.port))
	await(t, startTimeout, "the replica is in step", func() bool {
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
		addrs = append(addrs, s.addr())
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/" + masterName
}

// awaitTakeover waits until the replica is the master, and returns when that
// was.
func (w *watched) awaitTakeover(t testing.TB) time.Time {
	t.Helper()
	await(t, startTimeout, "the replica takes over", func() bool {
		return w.replica.info("replication", "role") == "master"
	})
	return time.Now()
}
