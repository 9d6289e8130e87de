package rehearse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The errors of Run.
var (
	ErrBroken = errors.New("the client broke a rule")
	ErrNobody = errors.New("not every act was played: no client came")
)

// headerTimeout is how long a client has for the headers of a request.
const headerTimeout = 10 * time.Second

// The environment of a client that Run starts: where the room is, and the zone to join.
const (
	URLVariable  = "REHEARSAL_URL"
	ZoneVariable = "REHEARSAL_ZONE"
)

// Config is what to rehearse.
type Config struct {
	// Addr is where the room listens: 127.0.0.1:8090.
	Addr string
	// Acts are the names of those to play; all, if empty.
	Acts []string
	// Speed is how many times as short as told the client makes its pauses, in a test: 1 to
	// 100. The time that it gives a call stays 3 s.
	Speed float64
	// Command starts a client, which waits once. It is started for each act, all at once,
	// with URLVariable and ZoneVariable, and with {url} and {zone} replaced in its
	// arguments.
	Command []string
	// Stdout gets the verdict, Stderr what the clients print.
	Stdout, Stderr io.Writer
}

const maxSpeed = 100

// Validate says what is wrong with it, if something is.
func (c Config) Validate() error {
	_, err := c.acts()
	return err
}

// acts returns those that are meant.
func (c Config) acts() ([]Act, error) {
	if !(c.Speed >= 1 && c.Speed <= maxSpeed) {
		return nil, fmt.Errorf("speed is %g, must be 1 to %d", c.Speed, maxSpeed)
	}
	all := Acts()
	var names []string
	for _, a := range all {
		names = append(names, a.Name)
	}
	for _, name := range c.Acts {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no act %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	if len(c.Command) == 0 {
		return nil, errors.New("no command that starts the client: write it behind --")
	}
	return slices.DeleteFunc(all, func(a Act) bool { return len(c.Acts) > 0 && !slices.Contains(c.Acts, a.Name) }), nil
}

// Run starts a client for each act, and prints the verdict when all have been played, or ctx ends. The
// error is ErrBroken if a rule was broken, ErrNobody if an act was not played.
func Run(ctx context.Context, c Config) (err error) {
	acts, err := c.acts()
	if err != nil {
		return err
	}
	r, err := New(acts, c.Speed)
	if err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: r.Handler(), ReadHeaderTimeout: headerTimeout}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until it is closed
	defer func() { err = errors.Join(err, server.Close()); serving.Wait() }()
	url := "http://" + listener.Addr().String()
	fmt.Fprintf(c.Stdout, "%s plays %d acts, each for a client of its own. That takes about a minute and a half.\n\n", url, len(acts))
	r.start(ctx, c, url)
	v := r.Verdict()
	if err := v.Print(c.Stdout); err != nil {
		return err
	}
	switch {
	case !v.Kept():
		return ErrBroken
	case len(v.Missing) > 0:
		return ErrNobody
	}
	return nil
}

// start starts a client for each act, and returns when they have ended. One that goes on
// when its act has been played is ended.
func (r *Rehearsal) start(ctx context.Context, c Config, url string) {
	var clients sync.WaitGroup
	defer clients.Wait()
	printed := &shared{w: c.Stderr}
	width := 0
	for _, p := range r.plays {
		width = max(width, len(p.act.Name))
	}
	for _, p := range r.plays {
		fill := strings.NewReplacer("{url}", url, "{zone}", p.act.Name)
		var args []string
		for _, arg := range c.Command {
			args = append(args, fill.Replace(arg))
		}
		clients.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			command := exec.CommandContext(ctx, args[0], args[1:]...)
			command.Env = append(os.Environ(), URLVariable+"="+url, ZoneVariable+"="+p.act.Name)
			out := &lines{to: printed, name: fmt.Sprintf("%-*s | ", width, p.act.Name)}
			defer out.end()
			command.Stdout, command.Stderr = out, out
			command.WaitDelay = time.Second
			clients.Go(func() {
				waitFor(ctx, p.over)
				cancel()
			})
			err := command.Start()
			if err == nil {
				clients.Go(func() {
					if waitFor(ctx, p.dozes); ctx.Err() == nil {
						// A client may have ended: then signals do nothing.
						_ = command.Process.Signal(syscall.SIGSTOP)
						_ = sleep(ctx, time.Duration(float64(asleep)/c.Speed))
						_ = command.Process.Signal(syscall.SIGCONT)
					}
				})
				err = command.Wait()
			}
			if err != nil && ctx.Err() == nil {
				fmt.Fprintf(out, "%s: %v\n", args[0], err)
			}
			p.leaves()
		})
	}
}

// lines is a writer that puts the name of an act before each line of the act's client.
type lines struct {
	to   io.Writer
	name string
	rest []byte // of a line that has not ended
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ended := bytes.Cut(l.rest, []byte("\n"))
		if !ended {
			return len(p), nil
		}
		if _, err := fmt.Fprintf(l.to, "%s%s\n", l.name, line); err != nil {
			return 0, err
		}
		l.rest = rest
	}
}

// end writes a last line that has no end.
func (l *lines) end() {
	if len(l.rest) > 0 {
		_, _ = l.Write([]byte("\n")) // nobody is left to tell
	}
}

// shared is a writer that many clients print to.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
