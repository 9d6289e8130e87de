package answer

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/labstack/echo/v4"
)

// MaxBody is the longest body of a request, in bytes. The longest that the
// contract can make, every field at its bound, is well below half of it.
const MaxBody = 4 << 10

// buffer holds a body, and the byte that tells that it is too long; later it
// holds the answer. It is not kept while the store is asked: a server needs as
// many as there are requests on the wire, not as there are in flight.
type buffer [MaxBody + 1]byte

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
// ErrInvalid or is ErrTooLarge or ErrTooSlow.
func Receive(c echo.Context, fields ...Field) error {
	buf, ok := buffers.Get().(*buffer)
	if !ok {
		buf = new(buffer)
	}
	defer buffers.Put(buf)
	body, err := readBody(c.Request(), buf)
	if err != nil {
		return err
	}
	return Decode(body, fields...)
}

// ReceiveBody reads the body of a request and hands it to read, which must not keep
// it. The errors are those of Receive, and read's own.
func ReceiveBody(c echo.Context, read func(body []byte) error) error {
	buf, ok := buffers.Get().(*buffer)
	if !ok {
		buf = new(buffer)
	}
	defer buffers.Put(buf)
	body, err := readBody(c.Request(), buf)
	if err != nil {
		return err
	}
	return read(body)
}

// ReadBody returns the body of a request that is not in a hurry. The errors
// are those of Receive.
func ReadBody(c echo.Context) ([]byte, error) {
	return readBody(c.Request(), new(buffer))
}

func readBody(r *http.Request, buf *buffer) ([]byte, error) {
	if r.ContentLength > MaxBody {
		return nil, ErrTooLarge
	}
	n := 0
	for {
		m, err := r.Body.Read(buf[n:])
		if n += m; n > MaxBody {
			return nil, ErrTooLarge
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return buf[:n], nil
		default:
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				return nil, ErrTooLarge
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return nil, ErrTooSlow
			}
			return nil, invalid(BodyField, "could not be read to its end")
		}
	}
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
