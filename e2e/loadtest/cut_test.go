package loadtest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// headerTimeout is far above what a header takes on loopback.
const headerTimeout = 10 * time.Second

// startCutter starts a proxy before target, host:port, that breaks a share of the POSTs
// off: a connection that closes, which is what a visitor sees of a lost network. Half of them never reach the
// server; of the others the reply is lost. The proxy ends with the context.
func startCutter(ctx context.Context, target string, share float64) (addr string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	// As many connections as visitors have, so that the proxy adds no wait.
	transport := &http.Transport{MaxIdleConnsPerHost: 10_000, DisableCompression: true}
	server := &http.Server{ReadHeaderTimeout: headerTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cut := r.Method == http.MethodPost && rand.Float64() < share
		if cut && rand.IntN(2) == 0 {
			panic(http.ErrAbortHandler) // which is how net/http closes a connection without an answer
		}
		proxy := httputil.ReverseProxy{
			Transport: transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // of what is cut on purpose
			Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", target },
			ModifyResponse: func(*http.Response) error {
				if cut {
					panic(http.ErrAbortHandler)
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
