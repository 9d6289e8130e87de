package route

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/labstack/echo/v4"
)

// Route is one call of a listener.
type Route struct {
	// Method is the HTTP method. With Head, the call also answers HEAD.
	Method string
	Head   bool
	// Path is in the notation of OpenAPI: /admin/zones/{zoneId}.
	Path string
	// Handle answers the call. It may be nil in a table that is only described. With Any, it answers all other methods, too. With Packed,
	// its answer is compressed for clients that take it so.
	Handle echo.HandlerFunc
	Any    bool
	Packed bool

	// ID and Tag name the call, for generated clients. Summary says in a line what it is for, and Doc the rest.
	ID, Tag, Summary, Doc string
	// Role is what who asks must at least be; "" where nobody is asked.
	Role Role
	// Security are the schemes of which one must be met; "" is nothing. Empty: nothing is asked.
	Security []string
	// Part is a struct whose field is a part of the path that is another in other paths; nil for none.
	Part any
	// Params are structs, whose fields are parameters of the query, or for the names of headers those of the request.
	Params []any
	// Body is of the type that the body is read into; nil for a call without one. With Optional it may be left out. Samples are examples of it, as YAML.
	Body     any
	Optional bool
	Samples  []Sample
	// Change says that the call changes something: it takes the header of who does it, and its answer may be a warning.
	Change bool
	// Answers are what the call answers when it is not refused.
	Answers []Answer
	// Refusals are the codes of problems that it answers with.
	Refusals []string
	// Invalid are examples of faults that invalid_request tells; with none, the call is never refused so.
	Invalid []string
}

// Sample is an example of a body: its name, a line of what it shows, and the body, as YAML.
type Sample struct{ Name, Summary, Body string }

// Answer is one answer of a call.
type Answer struct {
	Status int
	Doc    string
	// Body is of the type that is sent, as JSON; nil for none. Media are other media types, and the schema of each.
	Body  any
	Media Object
	// Headers are structs, whose fields are headers.
	Headers []any
}

// Mount adds the routes to e, each behind what the guards make of it.
func Mount(e *echo.Echo, routes []Route, guards ...func(Route) echo.MiddlewareFunc) {
	for _, r := range routes {
		path := strings.NewReplacer("{path}", "*", "{", ":", "}", "").Replace(r.Path)
		methods, use := []string{r.Method}, []echo.MiddlewareFunc{}
		if !strings.HasSuffix(path, "*") {
			use = append(use, decoded)
		}
		for _, guard := range guards {
			use = append(use, guard(r))
		}
		if r.Head {
			methods = append(methods, http.MethodHead)
		}
		if r.Packed {
			use = append(use, Pack)
		}
		e.Match(methods, path, r.Handle, use...)
		if r.Any {
			e.RouteNotFound(path, r.Handle)
		}
	}
}

// decoded decodes the parameters of a path. Echo leaves them as they are written where one of them has an encoded slash or comma.
func decoded(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().URL.RawPath != "" {
			values := c.ParamValues()
			for i, value := range values {
				if text, err := url.PathUnescape(value); err == nil { // always, since the request was read
					values[i] = text
				}
			}
			c.SetParamValues(values...)
		}
		return next(c)
	}
}

// Pack compresses an answer for clients that accept gzip. It turns an error into its answer itself: when it returns, the
// compressed answer has ended.
func Pack(next echo.HandlerFunc) echo.HandlerFunc {
	return echo.WrapMiddleware(func(h http.Handler) http.Handler { return gzhttp.GzipHandler(h) })(func(c echo.Context) error {
		if err := next(c); err != nil {
			c.Error(err)
		}
		return nil
	})
}
