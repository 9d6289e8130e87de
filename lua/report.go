package lua

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// admissionSize is the size of an admission in the scripts: id, and when it was given.
const admissionSize = 14

func appendAdmission(b []byte, a line.Admission) []byte {
	b = binary.BigEndian.AppendUint64(append(b, a.ID[:]...), uint64(a.AtMillis)<<16)
	return b[:len(b)-2]
}

func readAdmission(text string) (a line.Admission) {
	copy(a.ID[:], text)
	a.AtMillis = int64(binary.BigEndian.Uint64([]byte(text[6:admissionSize])) & (1<<48 - 1))
	return a
}

// revokedOf are a zone's revoked admissions as put_zone.lua takes them.
func revokedOf(z zone.Settings) []byte {
	b := make([]byte, 0, admissionSize*len(z.InsideState.Revoked))
	for _, text := range z.InsideState.Revoked {
		if jti, err := uuid.Parse(text); err == nil {
			if a, ok := line.AdmissionOf(z.ZoneID, jti); ok {
				b = appendAdmission(b, a)
			}
		}
	}
	return b
}

// Report implements store.Healer.
func (s *Store) Report(ctx context.Context, zoneID string, t line.SessionReport) (reply line.SessionReply, err error) {
	reply.NextMillis = t.SinceMillis
	batches := slices.Collect(slices.Chunk(t.Stays, store.ReportBatch))
	if len(batches) == 0 {
		batches = [][]line.Stay{nil}
	}
	for _, stays := range batches {
		if err := s.reportBatch(ctx, zoneID, t, stays, &reply); err != nil {
			return line.SessionReply{}, err
		}
		t.LostAtMillis, t.SinceMillis = 0, reply.NextMillis
	}
	return reply, nil
}

// reportBatch makes one call.
func (s *Store) reportBatch(ctx context.Context, zoneID string, t line.SessionReport, stays []line.Stay, out *line.SessionReply) error {
	text := make([]byte, 0, 21*len(stays))
	for _, one := range stays {
		what := "h"
		switch {
		case one.Named:
			what = "n"
		case one.Moved && one.LeftMillis > 0:
			what = "m"
		case one.Begins && one.LeftMillis > 0:
			what = "g"
		case one.Before && one.LeftMillis <= 0:
			what = "b"
		case one.LeftMillis <= 0:
			what = "d"
		}
		text = appendAdmission(append(text, what...), one.Admission)
		text = binary.BigEndian.AppendUint64(text, uint64(max(0, one.LeftMillis))<<16)
		text = text[:len(text)-2]
	}
	reply, err := s.call(ctx, reportScript, s.keys(zoneID), s.clock(), t.SinceMillis, t.LostAtMillis, t.Lost, text)
	if err != nil {
		return err
	}
	list, ok := reply.([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("lua: report: reply is %T", reply)
	}
	if err := zoneError(list[0]); err != nil {
		return err
	}
	const overPart = 3
	if len(list) <= overPart {
		return fmt.Errorf("lua: report: the reply has %d parts", len(list))
	}
	over, ok := list[overPart].(string)
	if !ok || len(over)%admissionSize != 0 {
		return fmt.Errorf("lua: report: what is over is %T", list[overPart])
	}
	var state, statuses, next []int64
	if err := readParts(slices.Delete(list, overPart, overPart+1), &state, &statuses, &next); err != nil {
		return err
	}
	if out.State, _, err = readState(state); err != nil {
		return err
	}
	if len(statuses) != len(stays) && len(statuses) > 0 || len(next) != 1 {
		return fmt.Errorf("lua: report: %d statuses of %d", len(statuses), len(stays))
	}
	for i := range stays {
		status := line.StayInside // without a cap
		if len(statuses) > 0 {
			status = line.StayStatus(statuses[i])
		}
		out.Statuses = append(out.Statuses, status)
	}
	for ; over != ""; over = over[admissionSize:] {
		out.Over = append(out.Over, readAdmission(over))
	}
	out.NextMillis = next[0]
	return nil
}
