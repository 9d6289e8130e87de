package lua

import (
	"fmt"
	"strings"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// settingFields are the settings by which the scripts decide: the name of each in a zone's hash, and its value. Values are
// counts or milliseconds; those of the draw are microseconds. To have the scripts know another setting is a row here.
var settingFields = []struct {
	name string
	of   func(zone.Settings) int64
}{
	{"per_minute", func(z zone.Settings) int64 { return z.InForce().PerMinute }},
	{"window", func(z zone.Settings) int64 { return z.Window().Milliseconds() }},
	{"burst", func(z zone.Settings) int64 { return z.Burst }},
	{"idle", func(z zone.Settings) int64 { return z.IdleTimeout().Milliseconds() }},
	{"keep_place", func(z zone.Settings) int64 { return z.KeepPlace().Milliseconds() }},
	{"ttl", func(z zone.Settings) int64 { return z.PassTTL().Milliseconds() }},
	{"max_waiting", func(z zone.Settings) int64 { return z.MaxWaiting }},
	{"max_wait", func(z zone.Settings) int64 { return z.MaxWait().Milliseconds() }},
	{"max_per_second", func(z zone.Settings) int64 { return int64(z.MaxPerSecond) }},
	{"max_inside", func(z zone.Settings) int64 { return z.MaxInside }},
	{"gather_at", func(z zone.Settings) int64 { return z.Gate().GatherAtMillis }},
	{"settles_at", func(z zone.Settings) int64 { return z.Gate().SettlesAtMillis }},
	{"opens_at", func(z zone.Settings) int64 { return z.Gate().OpensAtMillis }},
	{"draw_from", func(z zone.Settings) int64 { return z.Gate().FromMicros }},
	{"draw_upto", func(z zone.Settings) int64 { return z.Gate().UptoMicros }},
	{"draw_behind", func(z zone.Settings) int64 { return z.Gate().BehindMicros }},
}

// tablesFolder is where Sources has the tables.
const tablesFolder = "tables/"

// tables are the includes that are made from tables of Go. A script includes each as it includes a file.
var tables = map[string]func() string{
	// SETTINGS are the fields of settingFields, in its order.
	"settings": func() string {
		names := make([]string, len(settingFields))
		for i, x := range settingFields {
			names[i] = x.name
		}
		return luaList("SETTINGS", names)
	},
	// TOTALS are the fields that count what happened, in the order of line.TotalTable.
	"totals": func() string {
		names := make([]string, len(line.TotalTable))
		for i, x := range line.TotalTable {
			names[i] = x.Snake()
		}
		return luaList("TOTALS", names)
	},
	// Each outcome of a visitor's call is a local by its name: WAITING, ADMITTED and so on.
	"statuses": func() string {
		var all strings.Builder
		for status, name := range line.Statuses() {
			fmt.Fprintf(&all, "local %s = %d\n", strings.ToUpper(name), status)
		}
		return all.String()
	},
}

// luaList is a Lua local that is a list of names.
func luaList(local string, names []string) string {
	return fmt.Sprintf("local %s = {\n  '%s',\n}\n", local, strings.Join(names, "',\n  '"))
}
