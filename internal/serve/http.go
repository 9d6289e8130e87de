package serve

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/labstack/echo/v4"
)

// MaxBody is the longest body of a request, in bytes. The longest that the
// contract can make, every field at its bound, is well below half of it.
const MaxBody = 4 << 10

// MaxOperatorBody is the longest body of an operator's request, in bytes: the settings of
// a zone have a logo, of which each byte may be written as \u0041.
const MaxOperatorBody = 128 << 10

// buffer holds a body, and the byte that tells that it is too long. It is not
// kept while the store is asked: a server needs as many as there are requests on
// the wire, not as there are in flight.
type buffer [MaxBody + 1]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// ReceiveBody reads the body of a request and hands it to read, which must not keep
// it. The errors are ErrTooLarge, ErrTooSlow, a *FieldError, and read's own.
func ReceiveBody(c echo.Context, read func(body []byte) error) error {
	buf, ok := buffers.Get().(*buffer)
	if !ok {
		buf = new(buffer)
	}
	defer buffers.Put(buf)
	body, err := readBody(c.Request(), buf[:])
	if err != nil {
		return err
	}
	return read(body)
}

// ReadBody returns the body of an operator's request. The errors are ErrTooLarge,
// ErrTooSlow and a *FieldError.
func ReadBody(c echo.Context) ([]byte, error) {
	return readBody(c.Request(), make([]byte, MaxOperatorBody+1))
}

// readBody reads a body into buf, which has room for one byte more than there may be.
func readBody(r *http.Request, buf []byte) ([]byte, error) {
	most := len(buf) - 1
	if r.ContentLength > int64(most) {
		return nil, ErrTooLarge
	}
	n := 0
	for {
		m, err := r.Body.Read(buf[n:])
		if n += m; n > most {
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
			return nil, &FieldError{Field: BodyField, Reason: "could not be read to its end"}
		}
	}
}
