package evidence

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog"
)

// BundleType is the type (typ) of a bundle's JWT. Its claims are a Bundle, and it is signed as heads are.
const BundleType = "admissions-evidence+jwt"

// Bundle is a judgement with all that it was made from; of the logs it has the hashes. The record has the texts that were shown, and when.
type Bundle struct {
	// MadeAt is in Unix milliseconds. Version is of the program that judged, Servers those of the servers that wrote the logs.
	MadeAt  int64    `json:"madeAt"`
	Version string   `json:"version"`
	Servers []string `json:"servers"`
	Zone    string   `json:"zone"`
	From    int64    `json:"from,omitempty"`
	To      int64    `json:"to,omitempty"`
	Result
	Logs   []admissionlog.File `json:"logs"`
	Record []Change            `json:"record"`
	Heads  []string            `json:"heads"`
	Draws  []Draw              `json:"draws"`
}

// Bundle returns the bundle of a judgement.
func (s *Source) Bundle(r Result, version string, now time.Time) Bundle {
	b := Bundle{
		MadeAt: now.UnixMilli(), Version: version, Zone: s.Zone, From: s.From, To: s.To, Result: r,
		Record: s.Record, Heads: s.Heads, Draws: s.Draws,
	}
	for i := range s.Runs {
		b.Logs = append(b.Logs, s.Runs[i].Files...)
		if version := s.Runs[i].Lines[0].Version; !slices.Contains(b.Servers, version) {
			b.Servers = append(b.Servers, version)
		}
	}
	return b
}

// ReadBundle reads a bundle that one of the keys has signed.
func (k Keys) ReadBundle(text string) (b Bundle, err error) {
	if err := k.read(text, BundleType, &b); err != nil {
		return Bundle{}, err
	}
	for i := range b.Record {
		if err := b.Record[i].parse(); err != nil {
			return Bundle{}, err
		}
	}
	return b, nil
}

// Judge judges logs again by what the bundle has, and says in sentences what differs from what the bundle says.
func (b *Bundle) Judge(keys Keys, runs []admissionlog.Run, faults []string) (differs []string, err error) {
	s := Source{Zone: b.Zone, From: b.From, To: b.To, Runs: runs, Faults: faults, Keys: keys, Record: b.Record, Heads: b.Heads, Draws: b.Draws}
	again := s.Bundle(Check(&s), b.Version, time.UnixMilli(b.MadeAt))
	for _, was := range b.Logs {
		i := slices.IndexFunc(again.Logs, func(f admissionlog.File) bool { return f.Name == was.Name })
		switch {
		case i < 0:
			differs = append(differs, was.Name+" is missing")
		case again.Logs[i].SHA256 != was.SHA256:
			differs = append(differs, was.Name+" is not the file that was judged")
		}
	}
	was, err := json.Marshal(b.Result)
	is, err2 := json.Marshal(again.Result)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if string(was) != string(is) {
		differs = append(differs, fmt.Sprintf("the verdict on these logs is %s, with other findings or figures", again.Verdict))
	}
	return differs, nil
}

// Event returns when an event began and ended by the record, in Unix milliseconds; 0 for an end that it does not have.
func Event(record []Change, name string) (from, to int64, err error) {
	for _, change := range slices.Backward(record) { // the latest entry that has it
		for _, settings := range []*limits{change.now, change.was} {
			if settings == nil {
				continue
			}
			for _, e := range settings.Events {
				if e.Name != name {
					continue
				}
				if from = e.OpensAt.UnixMilli(); e.PreQueueAt != nil {
					from = e.PreQueueAt.UnixMilli()
				}
				if e.EndsAt != nil {
					to = e.EndsAt.UnixMilli()
				}
				return from, to, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("evidence: the record of changes has no event %s", name)
}
