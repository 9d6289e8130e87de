package checkapi

import (
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
	"github.com/openqueue/waitingroom/internal/serve"
)

// buffer holds an answer of the usual length: that of a policy with four rules.
type buffer [512]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// Values of header fields, shared by all answers. Their capacity is their length, so an
// append by a middleware copies them.
var (
	jsonType    = []string{echo.MIMEApplicationJSON}
	problemType = []string{ratelimit.ContentType}
	noStore     = []string{"no-store"}
)

// HTTP is the room's side of the limits' listener.
type HTTP struct{ service *Service }

// NewHTTP returns the handlers of the room.
func NewHTTP(s *Service) *HTTP { return &HTTP{service: s} }

// Check answers POST /limits/:policy/check.
func (h *HTTP) Check(c echo.Context) error {
	var q limiter.Question
	if err := serve.ReceiveBody(c, func(body []byte) (err error) {
		q, err = readQuestion(c.Param("policy"), body)
		return err
	}); err != nil {
		return err
	}
	a, err := h.service.Check(c.Request().Context(), q)
	if err != nil {
		return err
	}
	return send(c, &a, true)
}

// Auth answers any method of /limits/:policy/auth and of all paths below it. It does not read
// the request's body. A permit has no body, since no gateway reads it.
func (h *HTTP) Auth(c echo.Context) error {
	a, err := h.service.Auth(c.Request().Context(), c.Param("policy"), c.Request())
	if err != nil {
		return err
	}
	return send(c, &a, false)
}

// send answers with the verdict. A refusal is not returned as an error, since there can be
// a flood of refusals.
func send(c echo.Context, a *limiter.Answer, describe bool) error {
	res := c.Response()
	h := res.Header()
	ratelimit.SetFields(h, a)
	h[echo.HeaderCacheControl] = noStore
	buf, ok := buffers.Get().(*buffer)
	if !ok {
		buf = new(buffer)
	}
	defer buffers.Put(buf)
	body, status := buf[:0], http.StatusOK
	switch {
	case !a.Allowed:
		status = http.StatusTooManyRequests
		h[echo.HeaderContentType] = problemType
		body = ratelimit.AppendRefusal(body, a)
	case describe:
		h[echo.HeaderContentType] = jsonType
		body = appendAnswer(body, a)
	}
	// net/http writes Content-Length itself if the body fits its buffer.
	res.WriteHeader(status)
	if len(body) == 0 || c.Request().Method == http.MethodHead {
		return nil
	}
	_, err := res.Write(body)
	return err
}
