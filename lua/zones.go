package lua

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// rememberDeleted is how long a deleted zone is known as deleted: longer
	// than any server remembers it, so that none puts it back.
	rememberDeleted = 24 * time.Hour
	// buckets is how many seen buckets a zone has; see keys.lua.
	buckets = 16_384
	// lineKey is where that of the line is.
	lineKey = 1
	// logKey, seenKeys and insideKey are where those of the log, of the last polls (of which there are so many buckets) and of those inside are.
	logKey, seenKeys, insideKey = 4, 6, 9
	// asideKey is where the first of those is that have the places set aside. The last is the next.
	asideKey = 11
	// unlinkBatch is how many seen buckets one call removes.
	unlinkBatch = 512
)

// Outcomes of put_zone.lua.
const (
	putCreated = 1
	putDeleted = 2
	putDiffers = 3
	putLost    = 5
	putSame    = 6
)

// deleteMoved is an outcome of delete_zone.lua: see there.
const deleteMoved = 3

// zoneError reads the status of a zone: nil if it is there.
func zoneError(code any) error {
	switch code {
	case int64(0):
		return nil
	case int64(1):
		return line.ErrZoneUnknown
	case int64(2):
		return line.ErrZoneDeleted
	case int64(statusNewer):
		return newer("the zone's data has another", zoneFormat)
	default:
		return fmt.Errorf("lua: unknown status %v", code)
	}
}

// PutZone implements store.Editor.
func (s *Store) PutZone(ctx context.Context, settings zone.Settings, was *zone.Settings, by audit.By) (created bool, err error) {
	if err := settings.Validate(); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	code := int64(putDiffers)
	for try := 0; code == putDiffers && err == nil; try++ { // settings or record may change after they were read
		if try == maxTries {
			return false, line.ErrZoneChanged
		}
		code, err = s.putOnce(ctx, settings, was, by)
	}
	return code == putCreated, err
}

// putOnce does so unless the settings or the record change meanwhile: then it returns putDiffers.
func (s *Store) putOnce(ctx context.Context, settings zone.Settings, was *zone.Settings, by audit.By) (int64, error) {
	kept, text, err := s.read(ctx, settings.ZoneID)
	absent := errors.Is(err, line.ErrZoneUnknown) || errors.Is(err, line.ErrZoneDeleted)
	switch {
	case err != nil && !absent:
		return 0, err
	case was != nil && (absent || !kept.Equal(*was)):
		return 0, line.ErrZoneChanged
	case !absent && kept.Equal(settings):
		return s.putZone(ctx, "put", settings, text, text, addition{})
	}
	c := zone.Change{ZoneID: settings.ZoneID, By: by, Now: &settings}
	if !absent {
		c.Was = &kept
	}
	next, err := marshal(settings)
	var entry addition
	if err == nil && by.Via != audit.ViaPilot {
		entry, err = s.compose(ctx, settings.ZoneID, c, 0)
	}
	if err != nil {
		return 0, err
	}
	return s.putZone(ctx, "put", settings, text, next, entry)
}

// RestoreZone implements store.Healer.
func (s *Store) RestoreZone(ctx context.Context, settings zone.Settings, m line.Memory) error {
	if err := settings.Validate(); err != nil {
		return err
	}
	text, err := marshal(settings)
	if err != nil {
		return err
	}
	code := int64(putDiffers)
	for try := 0; code == putDiffers; try++ {
		if try == maxTries {
			return line.ErrZoneChanged
		}
		var entry addition
		if m.MadeBy != "" {
			by := audit.By{Name: m.MadeBy, Via: audit.ViaFile}
			if entry, err = s.compose(ctx, settings.ZoneID, zone.Change{ZoneID: settings.ZoneID, By: by, Now: &settings}, 0); err != nil {
				return err
			}
		}
		code, err = s.putZone(ctx, "restore", settings, "", text, entry,
			"edge_micros", m.EdgeMicros, "newest_micros", m.LastArrivalMicros, "seen_at", m.SeenAtMillis, "epoch", m.Epoch,
			"inside", m.Inside, "longest", m.LongestMillis)
		if err != nil {
			return err
		}
	}
	if code == putDeleted {
		return line.ErrZoneDeleted
	}
	return nil
}

// putZone has put_zone.lua go from one text of settings to another. memory are names and values of what is remembered of
// a zone that is put back.
func (s *Store) putZone(
	ctx context.Context, how string, z zone.Settings, was, text string, entry addition, memory ...any,
) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	args := append([]any{s.clock(), how, was, text, entry.text,
		"mode", string(z.InForce().Mode), "session", z.Session().Milliseconds(), "by_session", z.InsideBy == zone.InsideBySession,
		"revoked_upto", z.InsideState.RevokedUpToMillis, "reset_at", z.InsideState.ResetAtMillis, "revoked", revokedOf(z),
	}, memory...)
	for _, x := range settingFields {
		args = append(args, x.name, x.of(z))
	}
	reply, err := s.run(ctx, putZoneScript, append(s.keys(z.ZoneID), s.recordKeys(z.ZoneID)...), args...)
	if err != nil {
		return 0, err
	}
	code, ok := reply.(int64)
	switch {
	case !ok:
		return 0, fmt.Errorf("lua: put_zone: reply is %T", reply)
	case code == statusNewer:
		return 0, zoneError(code)
	case code == putLost:
		return 0, line.ErrZoneUnknown
	case code != putDiffers && code != putDeleted:
		if entry.text != "" && code != putSame {
			s.sealer.Added(z.ZoneID, entry.Addition)
		}
		s.batch(z.ZoneID).ranks.forget(s.wall()) // the answers in it follow the old settings
		s.list(ctx, z.ZoneID, s.zonesKey(), s.recordsKey())
	}
	return code, nil
}

// list writes the zone's name into lists, by which other servers find it. The
// lists may lie on other nodes than the zone. A list that cannot be written is no error,
// so that an operator can change this zone meanwhile. A server that remembers the zone
// sees that it is not listed, and restores it again.
func (s *Store) list(ctx context.Context, zoneID string, lists ...string) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	for _, key := range lists {
		if err := s.client.SAdd(ctx, key, zoneID).Err(); err != nil {
			s.logger.Warn("a zone cannot be listed yet", "zone", zoneID, "err", s.failed(ctx, putZoneScript.name, err))
		}
	}
}

// DeleteZone implements store.Editor.
func (s *Store) DeleteZone(ctx context.Context, zoneID string, by audit.By) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	again, err := s.deleteRecorded(ctx, zoneID, by)
	if err != nil {
		return err
	}
	// Deleted before: perhaps by a call that got no further.
	if again != nil && !errors.Is(again, line.ErrZoneDeleted) {
		return again
	}
	another, err := s.unlinkSeen(ctx, zoneID)
	if err != nil {
		return err
	}
	if another {
		return again
	}
	s.list(ctx, zoneID, s.recordsKey())
	if err := s.client.SRem(ctx, s.zonesKey(), zoneID).Err(); err != nil {
		return s.failed(ctx, deleteZoneScript.name, err)
	}
	return again
}

// errMoved says that the settings or the record have changed since they were read.
var errMoved = errors.New("lua: others change the zone again and again: try again")

// deleteRecorded deletes the zone, with an entry in its record. was is what the zone was before: nil if it was there. Nobody may be
// admitted after the time of the entry, since up to then all admissions are revoked if the zone is made again. So an entry is dated
// ever further ahead as long as visitors are admitted between its reading of the time and the deletion.
func (s *Store) deleteRecorded(ctx context.Context, zoneID string, by audit.By) (was, err error) {
	for try := range maxTries {
		kept, text, err := s.read(ctx, zoneID)
		if err != nil && !errors.Is(err, line.ErrZoneUnknown) && !errors.Is(err, line.ErrZoneDeleted) {
			return nil, err
		}
		ahead := time.Millisecond<<min(try, 8) - time.Millisecond
		entry, err := s.compose(ctx, zoneID, zone.Change{ZoneID: zoneID, By: by, Was: &kept}, ahead)
		if err != nil {
			return nil, err
		}
		was, err := s.deleteOnce(ctx, zoneID, entry, "", text)
		if err == nil && was == nil {
			s.sealer.Added(zoneID, entry.Addition)
		}
		if err != nil || !errors.Is(was, errMoved) {
			return was, err
		}
	}
	return nil, errMoved
}

// deleteOnce deletes the zone, or, from a seen bucket on, unlinkBatch of those that a deleted zone has left. text are the settings that
// were read.
func (s *Store) deleteOnce(ctx context.Context, zoneID string, entry addition, bucket, text string) (was, err error) {
	keys := slices.Concat(s.keys(zoneID), s.recordKeys(zoneID), []string{s.leaseKey(zoneID)})
	reply, err := s.run(ctx, deleteZoneScript, keys, s.clock(), rememberDeleted.Milliseconds(), s.sealer.Keep().Milliseconds(),
		entry.text, bucket, unlinkBatch, text, entry.atMillis)
	if err != nil {
		return nil, err
	}
	if reply == int64(deleteMoved) {
		return errMoved, nil
	}
	return zoneError(reply), nil
}

// unlinkSeen removes the seen buckets of a deleted zone. another: somebody made a zone of that name meanwhile, whose
// visitors' polls lie there, and it stopped.
func (s *Store) unlinkSeen(ctx context.Context, zoneID string) (another bool, err error) {
	for bucket := 0; bucket < buckets && !another; bucket += unlinkBatch {
		was, err := s.deleteOnce(ctx, zoneID, addition{}, strconv.Itoa(bucket), "")
		if err != nil {
			return false, err
		}
		another = was == nil
	}
	return another, nil
}

// Zone implements store.Reader.
func (s *Store) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	z, _, err := s.read(ctx, zoneID)
	return z, err
}

// read returns one zone's settings, and as the text that is kept.
func (s *Store) read(ctx context.Context, zoneID string) (z zone.Settings, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	v, err := s.client.HMGet(ctx, s.keys(zoneID)[0], settingsFields...).Result()
	if err != nil {
		return zone.Settings{}, "", s.failed(ctx, "zone", err)
	}
	return settingsOf(zoneID, v)
}

// settingsFields are those of a zone's hash that settingsOf reads; then the digest.
var settingsFields = []string{"json", "deleted", formatField, "digest"}

func settingsOf(zoneID string, v []any) (z zone.Settings, text string, err error) {
	if err := checkFormat("zone "+zoneID, v[2], zoneFormat); err != nil {
		return zone.Settings{}, "", err
	}
	if v[1] != nil {
		return zone.Settings{}, "", line.ErrZoneDeleted
	}
	text, ok := v[0].(string)
	if !ok {
		return zone.Settings{}, "", line.ErrZoneUnknown
	}
	if err := json.Unmarshal([]byte(text), &z); err != nil {
		return zone.Settings{}, "", fmt.Errorf("lua: a zone's settings are damaged: %w", err)
	}
	if v[2] == "1" { // the first script that touches the zone converts the text
		z.FromFormat1()
	}
	return z, text, nil
}

// known is what Zones read last, so that it reads only those settings that have changed since.
type known struct {
	mu sync.Mutex
	// names are on the list of zones as it was last read: the list may lie on a node that is away.
	names []string
	zones map[string]digested
}

// digested are settings with the digest of the text that they were read from.
type digested struct {
	digest   string
	settings zone.Settings
}

// heard is what Zones hears of settings that it read before.
type heard int

const (
	_ heard = iota // not asked for
	heardNothing
	heardSame
	heardOther
)

// Zones implements store.Reader. In one exchange with each node it reads the list and the digests of the zones that it
// knows, and in a second one the settings of those whose digest is another. When a node does not answer it returns the zones of
// the other nodes, and an error. While the list cannot be read, it goes by the list that was read last.
func (s *Store) Zones(ctx context.Context) ([]zone.Settings, error) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	before, about := s.known.zones, make(map[string]heard, len(s.known.names))
	for _, name := range s.known.names {
		about[name] = heardNothing
	}
	first, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	pipe := s.client.Pipeline()
	list := pipe.SMembers(first, s.zonesKey())
	away := askEach(first, pipe, s.known.names, func(name string) replier[[]any] {
		return pipe.HMGet(first, s.keys(name)[0], "digest", "deleted", formatField)
	}, func(name string, v []any) {
		about[name] = heardOther
		if d, found := before[name]; found && v[0] == d.digest && v[1] == nil && checkFormat("zone "+name, v[2], zoneFormat) == nil {
			about[name] = heardSame
		}
	})
	names, err := list.Result()
	if err == nil {
		s.known.names = names
	}
	away = errors.Join(err, away)
	s.known.zones = make(map[string]digested, len(names))
	all := make([]zone.Settings, 0, len(names))
	var changed []string
	for _, name := range s.known.names {
		switch d, found := before[name]; about[name] {
		case heardSame:
			all, s.known.zones[name] = append(all, d.settings), d
		case heardNothing:
			if found {
				s.known.zones[name] = d
			}
		default:
			changed = append(changed, name)
		}
	}
	var damaged, foreign []error
	second, cancel := context.WithTimeout(ctx, s.timeouts.call) // a node that hangs has used up the first one's time
	defer cancel()
	pipe = s.client.Pipeline()
	away = errors.Join(away, askEach(second, pipe, changed, func(name string) replier[[]any] {
		return pipe.HMGet(second, s.keys(name)[0], settingsFields...)
	}, func(name string, v []any) {
		z, _, err := settingsOf(name, v)
		switch {
		case err == nil:
			digest, _ := v[3].(string)
			all, s.known.zones[name] = append(all, z), digested{digest, z}
		case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
			// Lost or deleted: whoever remembers it will notice.
		case errors.Is(err, line.ErrFormat):
			foreign = append(foreign, err)
		default:
			damaged = append(damaged, err)
		}
	}))
	slices.SortFunc(all, func(a, b zone.Settings) int { return cmp.Compare(a.ZoneID, b.ZoneID) })
	if err := errors.Join(append(damaged, away)...); err != nil {
		return all, s.failed(ctx, "zones", err)
	}
	err = errors.Join(foreign...)
	s.finds(zonesReason, err)
	return all, err
}

// replier is a command of a pipeline.
type replier[T any] interface{ Result() (T, error) }

// askEach sends what is in pipe and one command for each zone, which ask puts there, in one exchange, and passes on the
// replies to these. It returns the errors of the commands that failed.
func askEach[T any](
	ctx context.Context, pipe redis.Pipeliner, names []string,
	ask func(name string) replier[T], take func(name string, reply T),
) error {
	replies := make([]replier[T], len(names))
	for i, name := range names {
		replies[i] = ask(name)
	}
	if pipe.Len() == 0 {
		return nil
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var errs []error
	for i, r := range replies {
		if reply, err := r.Result(); err != nil {
			errs = append(errs, err)
		} else {
			take(names[i], reply)
		}
	}
	return errors.Join(errs...)
}
