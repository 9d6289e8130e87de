package loadtest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

const (
	// Of the requests that are cut so many never reach the server; of so many more the
	// server has answered, and the reply is lost; of the others it ends in its middle.
	cutBefore = 0.4
	cutAfter  = 0.4
	// headerTimeout is far above what a header takes on loopback.
	headerTimeout = 10 * time.Second
)

// startCutter starts a proxy before target, host:port, that breaks a share of the POSTs
// off: a connection that closes, which is what a visitor sees of a lost network. It
// ends with the context.
func startCutter(ctx context.Context, target string, share float64) (addr string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	// As many connections as visitors have, so that the proxy adds no wait.
	transport := &http.Transport{MaxIdleConnsPerHost: 10_000, DisableCompression: true}
	server := &http.Server{ReadHeaderTimeout: headerTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cut, kind := r.Method == http.MethodPost && rand.Float64() < share, rand.Float64()
		if cut && kind < cutBefore {
			panic(http.ErrAbortHandler) // which is how net/http closes a connection without an answer
		}
		proxy := httputil.ReverseProxy{
			Transport: transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // of what is cut on purpose
			Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", target },
			ModifyResponse: func(res *http.Response) error {
				if cut && kind < cutBefore+cutAfter {
					panic(http.ErrAbortHandler)
				}
				if cut {
					res.Body = half{io.LimitReader(res.Body, res.ContentLength/2), res.Body}
				}
				return nil
			},
			// What the server itself breaks off is broken off here, too.
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		}
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(l) }() // ends with the context
	context.AfterFunc(ctx, func() {
		_ = server.Close() // nobody asks it any more
		transport.CloseIdleConnections()
	})
	return l.Addr().String(), nil
}

// half is the first half of a body, which then breaks off.
type half struct {
	io.Reader
	io.Closer
}

func (h half) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
