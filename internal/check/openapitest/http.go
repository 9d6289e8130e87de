package openapitest

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"
)

// Handler returns h with every exchange checked. What is wrong fails the test.
// A benchmark gets h as it is: it measures h alone.
func (d *Document) Handler(tb testing.TB, h http.Handler) http.Handler {
	tb.Helper()
	if _, measured := tb.(*testing.B); measured {
		return h
	}
	checked := d.Transport(tb, transport(func(r *http.Request) (*http.Response, error) {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		return answer.Result(), nil
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.Describes(r.URL.Path) {
			h.ServeHTTP(w, r)
			return
		}
		res, err := checked.RoundTrip(r)
		if err != nil {
			tb.Error(err)
			return
		}
		defer func() { _ = res.Body.Close() }() // it is in memory
		maps.Copy(w.Header(), res.Header)
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body) // to one who may have hung up
	})
}

// Transport returns base with every exchange checked. What is wrong fails the
// test. Requests and answers are read whole before they are handed on.
func (d *Document) Transport(tb testing.TB, base http.RoundTripper) http.RoundTripper {
	tb.Helper()
	return transport(func(req *http.Request) (*http.Response, error) {
		if !d.Describes(req.URL.Path) { // it may be a stream
			return base.RoundTrip(req)
		}
		res, x, err := exchange(base, req)
		if err != nil {
			return res, err
		}
		if err := d.Check(req.Context(), x); err != nil {
			tb.Error(err)
		}
		return res, nil
	})
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

// exchange asks base, and returns the answer and what was said.
func exchange(base http.RoundTripper, req *http.Request) (*http.Response, Exchange, error) {
	// Read before it is sent: a server may answer while the rest is on its way.
	var sent []byte
	if req.Body != nil && req.Body != http.NoBody {
		var broken error
		sent, broken = io.ReadAll(req.Body)
		body := io.Reader(bytes.NewReader(sent))
		if broken != nil { // which whoever is asked is to find, too
			body = io.MultiReader(body, iotest.ErrReader(broken))
		}
		closer := req.Body
		req = req.Clone(req.Context())
		req.Body = struct {
			io.Reader
			io.Closer
		}{body, closer}
	}
	res, err := base.RoundTrip(req)
	if err != nil {
		return res, Exchange{}, err
	}
	body, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, Exchange{}, err
	}
	if req.Method == http.MethodHead { // which gets no body, whatever a handler writes
		body = nil
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, Exchange{Request: req, Sent: sent, Status: res.StatusCode, Header: res.Header, Body: body}, nil
}
