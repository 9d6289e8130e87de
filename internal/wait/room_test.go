package wait_test

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/check/room"
)

const zoneID = "TEST_ZONE"

// server is a server whose zone admits one in 6 s.
type server struct{ *room.Server }

func newServer(tb testing.TB) *server { tb.Helper(); return &server{room.New(tb, zoneID, 10)} }
