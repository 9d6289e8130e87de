package serve

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/labstack/echo/v4"
)

// MaxBody is the longest body of a request, in bytes: a join with the token of a provider and all else at its bound.
const MaxBody = 8 << 10

// MaxOperatorBody is the longest body of an operator's request, in bytes. The settings of a
// zone have a logo, and a client may write each character of it in six, as \u0041.
const MaxOperatorBody = 256 << 10

// buffer holds a body, and one byte more that tells that it is too long. It is given back
// before the store is asked, so a server needs as many as it is reading bodies, not as many
// as it has requests under way.
type buffer [MaxBody + 1]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// ReceiveBody reads the body of a request, at most MaxBody, and hands it to read, which must
// not keep it. The errors are ErrTooLarge, ErrTooSlow, a *FieldError, and those of read.
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

// ReadBody returns the body of an operator's request, at most MaxOperatorBody. The errors are
// ErrTooLarge, ErrTooSlow and a *FieldError.
func ReadBody(c echo.Context) ([]byte, error) {
	return readBody(c.Request(), make([]byte, MaxOperatorBody+1))
}

// readBody reads a body into buf, which has room for one byte more than the body may have.
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
