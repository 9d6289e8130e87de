package lua

import (
	"context"
	"embed"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed line limits include
var sources embed.FS

var includeLine = regexp.MustCompile(`(?m)^--@include ([a-z_]+)\n`)

// script is a script as Redis gets it.
type script struct {
	name, text, sha string
}

// The scripts.
var (
	pollScript = newScript("line/poll.lua")
	// pollFullScript is poll.lua as it runs when Redis has no memory left.
	pollFullScript = pollScript.allowOOM()

	touchScript       = newScript("line/touch.lua")
	sweepScript       = newScript("line/sweep.lua")
	observeScript     = newScript("line/observe.lua")
	putZoneScript     = newScript("line/put_zone.lua")
	deleteZoneScript  = newScript("line/delete_zone.lua")
	recallScript      = newScript("line/recall.lua")
	reportScript      = newScript("line/report.lua")
	announceScript    = newScript("line/announce.lua")
	spendScript       = newScript("line/spend.lua")
	visitScript       = newScript("line/visit.lua")
	allowScript       = newScript("limits/allow.lua")
	putDocumentScript = newScript("limits/put_document.lua")
	readTailScript    = newScript("limits/read_tail.lua")

	scripts = []*script{
		pollScript, pollFullScript, touchScript, sweepScript, observeScript, putZoneScript, deleteZoneScript, recallScript, reportScript, announceScript, spendScript, visitScript,
		allowScript, putDocumentScript, readTailScript,
	}
)

// newScript is the script of a file.
func newScript(file string) *script {
	text := Expand(file)
	return &script{name: strings.TrimSuffix(path.Base(file), ".lua"), text: text, sha: redis.NewScript(text).Hash()}
}

// allowOOM is the same script, which Redis also runs when it has reached
// maxmemory.
func (sc *script) allowOOM() *script {
	text := strings.Replace(sc.text, "#!lua\n", "#!lua flags=allow-oom\n", 1)
	return &script{name: sc.name, text: text, sha: redis.NewScript(text).Hash()}
}

// Sources are the files of the package's scripts and of their includes. Those of the folder "tables" are made from tables of Go.
func Sources() (files []string) {
	_ = fs.WalkDir(sources, ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, file)
		}
		return err
	})
	for name := range tables {
		files = append(files, tablesFolder+name)
	}
	return files
}

// Expand returns one of Sources with what it includes put in place.
func Expand(file string) string {
	if name, made := strings.CutPrefix(file, tablesFolder); made {
		return tables[name]()
	}
	folder, _, _ := strings.Cut(file, "/")
	return expand(folder, read(file), make(map[string]bool))
}

// expand puts in what a text includes, and what that includes, each once: where it is
// first asked for. It is one of tables, or lies in the folder's own include, or in that of all folders.
func expand(folder, text string, in map[string]bool) string {
	return includeLine.ReplaceAllStringFunc(text, func(l string) string {
		name := includeLine.FindStringSubmatch(l)[1]
		if in[name] {
			return ""
		}
		in[name] = true
		if table := tables[name]; table != nil {
			return table()
		}
		file := path.Join(folder, "include", name+".lua")
		if _, err := fs.Stat(sources, file); err != nil {
			file = path.Join("include", name+".lua")
		}
		return expand(folder, read(file), in)
	})
}

// read panics on a file that is not in the package: the names are constants.
func read(file string) string {
	text, err := sources.ReadFile(file)
	if err != nil {
		panic("lua: " + err.Error())
	}
	return string(text)
}

// ScriptNamed returns what script has a hash, as Redis notes it in its slow log: the name
// of its file, "" for none of this package.
func ScriptNamed(sha string) string {
	for _, sc := range scripts {
		if sc.sha == sha {
			return sc.name
		}
	}
	return ""
}

// once is a command that the client never sends a second time on its own: when
// a reply is lost, nobody knows whether the script ran. The visitor's next poll
// is the retry.
type once struct{ *redis.Cmd }

// NoRetry is what go-redis asks for.
func (once) NoRetry() bool { return true }

// command runs a script, by its hash or with its text.
func (sc *script) command(ctx context.Context, withText bool, keys []string, args []any) once {
	all := make([]any, 0, 3+len(keys)+len(args))
	if withText {
		all = append(all, "eval", sc.text, len(keys))
	} else {
		all = append(all, "evalsha", sc.sha, len(keys))
	}
	for _, k := range keys {
		all = append(all, k)
	}
	return once{redis.NewCmd(ctx, append(all, args...)...)}
}

// call is run for one caller, within callTimeout, and measures how long it took.
func (s *Store) call(ctx context.Context, sc *script, keys []string, args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	start := time.Now()
	reply, err := s.run(ctx, sc, keys, args...)
	s.metrics.seconds.WithLabelValues(sc.name).Observe(time.Since(start).Seconds())
	return reply, err
}

// run evaluates a script by its hash, and once more with its text if the node
// does not have it: a node that joined, restarted or was told SCRIPT FLUSH.
// NOSCRIPT is an answer, so nothing has run.
func (s *Store) run(ctx context.Context, sc *script, keys []string, args ...any) (any, error) {
	cmd := sc.command(ctx, false, keys, args)
	err := s.client.Process(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		s.metrics.reloaded.Inc()
		cmd = sc.command(ctx, true, keys, args)
		err = s.client.Process(ctx, cmd)
	}
	if err != nil {
		return nil, s.failed(ctx, sc.name, err)
	}
	return cmd.Val(), nil
}
