package lua

import (
	"context"
	"embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua include/*.lua
var sources embed.FS

var includeLine = regexp.MustCompile(`(?m)^--@include ([a-z_]+)$`)

// script is a script as Redis gets it.
type script struct {
	name, text, sha string
}

// The scripts.
var (
	visitScript = load("visit")
	// visitFullScript is visit.lua as it runs when Redis has no memory left.
	visitFullScript = visitScript.allowOOM()

	sweepScript  = load("sweep")
	settleScript = load("settle")
	deleteScript = load("delete")
	recallScript = load("recall")
	takeScript   = load("take")
	bookScript   = load("book")
	meetScript   = load("meet")

	scripts = append([]*script{
		visitScript, visitFullScript, sweepScript, settleScript, deleteScript, recallScript, takeScript, bookScript, meetScript,
	}, singleTakeScripts()...)
)

func load(name string) *script { return newScript(name, Expand(name)) }

func newScript(name, text string) *script {
	return &script{name: name, text: text, sha: redis.NewScript(text).Hash()}
}

// allowOOM is the same script, which Redis also runs when it has reached
// maxmemory.
func (sc *script) allowOOM() *script {
	text := strings.Replace(sc.text, "#!lua\n", "#!lua flags=allow-oom\n", 1)
	return &script{name: sc.name, text: text, sha: redis.NewScript(text).Hash()}
}

// Expand returns a script with its includes, as Redis gets it. It panics on a
// name that is not in the package: the names are constants.
func Expand(name string) string {
	text, err := sources.ReadFile(name + ".lua")
	if err != nil {
		panic("lua: " + err.Error())
	}
	return expand(string(text), func(string) bool { return true })
}

// expand replaces the lines that include something, and removes those of which it
// is not wanted.
func expand(text string, wanted func(include string) bool) string {
	return includeLine.ReplaceAllStringFunc(text, func(l string) string {
		name := includeLine.FindStringSubmatch(l)[1]
		if !wanted(name) {
			return ""
		}
		part, err := sources.ReadFile("include/" + name + ".lua")
		if err != nil {
			panic("lua: " + err.Error())
		}
		return string(part)
	})
}

// once is a command that the client never sends a second time on its own: when
// a reply is lost, nobody knows whether the script ran. The visitor's next poll
// is the retry.
type once struct{ *redis.Cmd }

// NoRetry is what go-redis asks for.
func (once) NoRetry() bool { return true }

// run evaluates a script by its hash, and once more with its text if the node
// does not have it: a node that joined, restarted or was told SCRIPT FLUSH.
// NOSCRIPT is an answer, so nothing has run.
func (s *Store) run(ctx context.Context, sc *script, keys []string, args ...any) (any, error) {
	res, err := s.eval(ctx, "evalsha", sc.sha, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		s.metrics.reloaded.Inc()
		res, err = s.eval(ctx, "eval", sc.text, keys, args)
	}
	if err != nil {
		return nil, s.failed(ctx, sc.name, err)
	}
	return res, nil
}

func (s *Store) eval(ctx context.Context, command, what string, keys []string, args []any) (any, error) {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, command, what, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	cmd := once{redis.NewCmd(ctx, append(all, args...)...)}
	err := s.client.Process(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return cmd.Result()
}

// numbers reads a reply of integers only.
func numbers(reply any) ([]int64, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("lua: reply is %T, want a list", reply)
	}
	out := make([]int64, len(list))
	for i, v := range list {
		if out[i], ok = v.(int64); !ok {
			return nil, fmt.Errorf("lua: reply[%d] is %T, want an integer", i, v)
		}
	}
	return out, nil
}
