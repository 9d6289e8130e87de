package answer

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/serve"
)

// buffer holds an answer while it is written. It is not kept while the store is
// asked: a server needs as many as there are answers on the wire.
type buffer [4 << 10]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// Values of header fields, shared by all answers: to set them allocates
// nothing. They are full, so that an append by a middleware copies them.
var (
	jsonType = []string{echo.MIMEApplicationJSON}
	noStore  = []string{"no-store"}
	// seconds are those of Retry-After, for all periods that are ever told.
	seconds = func() (s [sharedSeconds + 1][]string) {
		for i := range s {
			s[i] = []string{strconv.Itoa(i)}
		}
		return s
	}()
)

// sharedSeconds is above the longest polling period of any zone.
const sharedSeconds = 60

// Receive reads the body of a request and decodes it into the fields, whatever
// the Content-Type says: mobile clients are careless with it. The error wraps
// serve.ErrInvalid or is serve.ErrTooLarge or serve.ErrTooSlow.
func Receive(c echo.Context, fields ...Field) error {
	return serve.ReceiveBody(c, func(body []byte) error { return Decode(body, fields...) })
}

// Send writes the answer with status 200, and Retry-After while it is to wait.
func Send(c echo.Context, a *Answer) error {
	buf, ok := buffers.Get().(*buffer)
	if !ok {
		buf = new(buffer)
	}
	defer buffers.Put(buf)
	body := a.AppendJSON(buf[:0])

	res := c.Response()
	h := res.Header()
	h[echo.HeaderContentType] = jsonType
	h[echo.HeaderCacheControl] = noStore // it holds a token
	if !a.CanEnter() {
		h[echo.HeaderRetryAfter] = retryAfter(a.RetryAfterSeconds())
	}
	// net/http knows the length of what fits its buffer, and writes it itself.
	res.WriteHeader(http.StatusOK)
	_, err := res.Write(body)
	return err
}

func retryAfter(s int64) []string {
	if s <= sharedSeconds {
		return seconds[s]
	}
	return []string{strconv.FormatInt(s, 10)}
}
