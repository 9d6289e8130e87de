package fault

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

// slotOf is the slot of a zone's keys, as Redis has it: CRC16 (XMODEM) of the hash tag.
func slotOf(zoneID string) int {
	crc := uint16(0)
	for _, b := range []byte(zoneID) {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

const (
	// near is how many slots are moved: those of the first master with the lowest numbers, which reshard takes.
	near = 8
	// standsStill is for how long the move stands still while a zone's slot is on its way.
	standsStill = 8 * time.Second
)

// nameNear returns a zone's name, with that beginning, whose slot is moved by reshard.
func nameNear(beginning string) string {
	for i := 0; ; i++ {
		if name := beginning + strconv.Itoa(i); slotOf(name) < near {
			return name
		}
	}
}

// reshard moves slots from the first master to the second with redis-cli, which is stopped for a while when the zone's slot
// is half-way.
func (c *cluster) reshard(t *testing.T, zoneID string) {
	t.Helper()
	slot, began := strconv.Itoa(slotOf(zoneID)), time.Now()
	move := exec.CommandContext(t.Context(), "redis-cli", "--cluster", "reshard", c.nodes[0].Addr(), "--cluster-from", nodeID(0),
		"--cluster-to", nodeID(1), "--cluster-slots", strconv.Itoa(near), "--cluster-yes", "--cluster-pipeline", "1")
	said, err := move.StdoutPipe()
	if err == nil {
		err = move.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		if err := move.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	// It says "Moving slot 5 from ..." in its plan. From there it goes on by small steps, until the slot is on its way.
	words := bufio.NewScanner(said)
	words.Split(bufio.ScanWords)
	told, half := 0, false
	for last := ""; words.Scan(); last = words.Text() {
		if last != "slot" || words.Text() != slot {
			continue
		}
		if told++; told > 1 {
			continue
		}
		signal(syscall.SIGSTOP)
		room.Await(t, "the slot is on its way", func() bool {
			half = strings.Contains(c.nodes[0].do(t, "CLUSTER", "NODES"), "["+slot+"->-")
			if half || c.nodes[1].do(t, "CLUSTER", "COUNTKEYSINSLOT", slot) != "0" {
				return true
			}
			signal(syscall.SIGCONT)
			signal(syscall.SIGSTOP)
			return false
		})
		if half {
			room.Await(t, "it stands still", after(standsStill))
		}
		signal(syscall.SIGCONT)
	}
	if err := move.Wait(); err != nil {
		t.Fatal(err)
	}
	if keys := c.nodes[1].do(t, "CLUSTER", "COUNTKEYSINSLOT", slot); keys == "0" {
		t.Fatal("the zone was not moved")
	}
	t.Logf("moved in %v; stood still half-way: %t", time.Since(began), half)
}

// TestReshard moves the slot of a zone to another master with redis-cli --cluster reshard, which stands still half-way.
// Nobody loses anything, and the zone of a third master notices nothing.
func TestReshard(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	moves := busy(nameNear("MOVES"))
	moves.IdleTimeoutSeconds, moves.PerMinute = 60, 1_200
	s := setUp(t, "cluster: slots are moved, which stops half-way", c.url(), moves, busy(c.zoneOn(t, 2, "STAYS")))
	s.loses, s.spared = losesNothing, []string{s.zones[1].ZoneID}
	s.fill(t, sizeOf(t, aThousand), aCrowd)
	s.breaks()
	c.reshard(t, moves.ZoneID)
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
	s.untouched(t, s.zones[1])
}
