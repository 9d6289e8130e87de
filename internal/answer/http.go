package answer

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/serve"
)

// buffer holds an answer while it is written. It is not held while the store is asked, so a server needs only as many
// buffers as answers are being written.
type buffer [4 << 10]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// Values of header fields, shared by all answers, so that setting them allocates nothing. Each slice is full, so an
// append by a middleware copies it.
var (
	jsonType = []string{echo.MIMEApplicationJSON}
	noStore  = []string{"no-store"}
	// seconds are the values of Retry-After for all periods that are ever told.
	seconds = func() (s [sharedSeconds + 1][]string) {
		for i := range s {
			s[i] = []string{strconv.Itoa(i)}
		}
		return s
	}()
)

// sharedSeconds is the longest polling period of any zone, in seconds (window.MaxPeriodMillis).
const sharedSeconds = 60

// Receive reads the body of a request and decodes it into the fields. It ignores the Content-Type, which mobile clients
// often set wrongly. The error wraps serve.ErrInvalid, or is serve.ErrTooLarge or serve.ErrTooSlow.
func Receive(c echo.Context, fields ...Field) error {
	return serve.ReceiveBody(c, func(body []byte) error { return Decode(body, fields...) })
}

// Send writes the answer with status 200, and with Retry-After if its visitor has to wait.
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
	// net/http sets Content-Length by itself for a body that fits its buffer.
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
