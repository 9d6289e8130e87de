package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

// front is queue-server in front of a shop, and the shop.
type front struct {
	*room.Server
	addr string
	shop *httptest.Server
	// uploads has how each body ended that the shop read: how many bytes came, and the error.
	uploads chan error
}

const download = 64 << 20 // bytes: more than sockets keep

// upload is a GiB, or as many as UPLOAD_GIB says.
func upload(t *testing.T) int64 {
	t.Helper()
	gib, err := strconv.ParseInt(cmp.Or(os.Getenv("UPLOAD_GIB"), "1"), 10, 64)
	must(t, err)
	return gib << 30
}

func startFront(t *testing.T, env map[string]string) *front {
	t.Helper()
	f := &front{addr: room.FreeAddr(t), uploads: make(chan error, 1)}
	f.shop = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/live":
			c, b, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
			_, _ = io.Copy(c, b)
			_ = c.Close()
		case "/download":
			part := bytes.Repeat([]byte{'x'}, 1<<16)
			for range download / len(part) {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		case "/upload":
			n, err := io.Copy(io.Discard, r.Body)
			f.uploads <- err
			_, _ = fmt.Fprint(w, n)
		}
	}))
	t.Cleanup(f.shop.Close)
	all := map[string]string{"QUEUE_UPSTREAM": f.shop.URL, "QUEUE_ZONE": "SHOP=6000000", "QUEUE_SITES_ADDR": f.addr, "QUEUE_DOOR_LIMITS": "off"}
	maps.Copy(all, env)
	f.Server = room.Start(t, all)
	f.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"mode":"open"}`)
	return f
}

// TestBodies: a body takes as long as it takes, in constant memory, unless nothing of it moves.
func TestBodies(t *testing.T) {
	f := startFront(t, map[string]string{"QUEUE_SITES_STALL_TIMEOUT": "2s"})
	before, size, began := f.memory(t), upload(t), time.Now()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.addr+"/upload", io.LimitReader(endless{}, size))
	must(t, err)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	said, err := io.ReadAll(res.Body)
	must(t, err)
	must(t, res.Body.Close())
	const most = 48 << 20
	grown := f.memory(t) - before
	t.Logf("an upload of %d GiB took %v, and the server grew by %d KiB", size>>30, time.Since(began).Round(time.Millisecond), grown>>10)
	if string(said) != fmt.Sprint(size) || <-f.uploads != nil || grown > most {
		t.Errorf("an upload of %d bytes: %s arrived, and the server grew by %d MiB", size, said, grown>>20)
	}

	_, cut := dialFor(t, f.addr, "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf", func(c net.Conn) { _ = c.Close() })
	if _, err := cut.ReadByte(); err == nil {
		t.Error("an upload that was cut is answered")
	}
	if err := <-f.uploads; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the shop reads the upload that was cut to %v", err)
	}
	dialFor(t, f.addr, "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf", nil) // and nothing more
	if err := <-f.uploads; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the shop reads the upload that stalls to %v", err)
	}

	// Each read takes a moment, and the whole longer than the stall that is allowed.
	read := 0
	began = time.Now()
	_, slow := dialFor(t, f.addr, "GET /download HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", nil)
	for part := make([]byte, download/8); ; {
		n, err := io.ReadFull(slow, part)
		if read += n; err != nil {
			break
		}
		<-time.After(700 * time.Millisecond)
	}
	if took := time.Since(began); read < download || took < 4*time.Second {
		t.Errorf("a download that is read slowly ends after %v with %d bytes", took, read)
	}
	_, stalled := dialFor(t, f.addr, "GET /download HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", nil)
	<-time.After(6 * time.Second)
	if n, _ := io.Copy(io.Discard, stalled); n >= download {
		t.Error("a download that nobody reads goes on")
	}
	room.Await(t, "the uploads that failed are counted as the visitors'", func() bool {
		return strings.Contains(room.Request(t, http.MethodGet, f.Operators+"/metrics", "").Body, `queue_site_answers_total{outcome="left",zone="SHOP"} 2`)
	})
}

// openFiles is how many files a process may have open.
func openFiles(t *testing.T) int {
	t.Helper()
	var files syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	return int(min(files.Cur, 1<<20))
}

// endless is a body.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// memory is what the server has of the machine, in bytes.
func (f *front) memory(t *testing.T) (bytes int64) {
	t.Helper()
	for line := range strings.Lines(room.Request(t, http.MethodGet, f.Operators+"/metrics", "").Body) {
		var value float64
		if n, _ := fmt.Sscanf(line, "process_resident_memory_bytes %g", &value); n == 1 {
			return int64(value)
		}
	}
	t.Fatal("no metric of the memory")
	return 0
}

// dialFor is dial, for a connection that may last; then is called after the request.
func dialFor(t *testing.T, addr, request string, then func(net.Conn)) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, request)
	must(t, err)
	if then != nil {
		then(c)
	}
	return c, bufio.NewReaderSize(c, 512)
}

// TestManyWebSockets: ten thousand that idle take little memory, and each still works.
func TestManyWebSockets(t *testing.T) {
	f := startFront(t, nil)
	// With so many files the server accepts some 3/10 of them as connections of sites, since each takes two, and others need some.
	sockets := min(10_000, openFiles(t)*7/24)
	const together = 50
	before := f.memory(t)
	open := make([]net.Conn, sockets)
	var dials sync.WaitGroup
	for i := range together {
		dials.Go(func() {
			for at := i; at < sockets; at += together {
				c, answers := dialFor(t, f.addr, "GET /live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", nil)
				if status := readHeader(t, answers); status != http.StatusSwitchingProtocols {
					t.Errorf("WebSocket %d: %d", at, status)
					return
				}
				open[at] = c
			}
		})
	}
	dials.Wait()
	if t.Failed() {
		return
	}
	const most = 80 << 10
	each := (f.memory(t) - before) / int64(sockets)
	t.Logf("%d KiB for each of %d idle WebSockets", each>>10, sockets)
	if each > most {
		t.Errorf("an idle WebSocket takes %d KiB", each>>10)
	}
	for i := 0; i < sockets; i += sockets / 100 {
		_, err := io.WriteString(open[i], "hello")
		must(t, err)
		said := make([]byte, 5)
		if _, err := io.ReadFull(open[i], said); err != nil || string(said) != "hello" {
			t.Fatalf("WebSocket %d says %q, %v", i, said, err)
		}
	}
	f.Stop(t)
	if _, err := io.ReadAll(open[0]); err != nil {
		t.Errorf("a WebSocket when the server has drained: %v", err)
	}
}
