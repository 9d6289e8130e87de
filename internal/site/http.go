package site

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
)

// Values of header fields, shared by all answers. Their capacity is their length, so an append by a
// middleware copies them.
var (
	problemType = []string{ratelimit.ContentType}
	noStore     = []string{"no-store"}
	private     = []string{"private, no-store"}
)

// Ask answers any method of /site/:zoneId and of all paths below it. It does not read the body.
func (s *Service) Ask(c echo.Context) error {
	r, zoneID := c.Request(), c.Param("zoneId")
	q, err := readRequest(r)
	if unknown := answer.CheckZoneID(zoneID); unknown != nil {
		err = unknown
	}
	if err != nil {
		s.Meter.Site(zoneID, outUnreadable)
		return err
	}
	v := s.ask(r.Context(), zoneID, &q, c)
	if v.err != nil {
		return v.err
	}
	res := c.Response()
	header := res.Header()
	// A gateway may cache answers for a time of its own, as nginx does with proxy_cache_valid, and would then let in
	// everybody who asks for the same page. Envoy caches nothing, but adds the header to the shop's answer. No cache before
	// Envoy may keep one with a session. One without a session stays without the header, as caches may keep what the shop
	// allows.
	switch {
	case v.session != "":
		header[echo.HeaderCacheControl] = private
	case !q.below || v.location != "" || v.refused:
		header[echo.HeaderCacheControl] = noStore
	}
	switch {
	case v.session != "" && v.app:
		header.Set(SessionHeader, v.session)
	case v.session != "":
		setSession(header, zoneID, q.secure, v.session, v.length)
	}
	switch {
	case v.location != "" && q.nginx:
		header.Set(echo.HeaderLocation, v.location)
		return c.NoContent(http.StatusUnauthorized)
	case v.location != "":
		return c.Redirect(http.StatusFound, v.location)
	case v.refused && q.nginx:
		header.Set(ProblemHeader, string(s.appendRefusal(nil, zoneID)))
		return c.NoContent(http.StatusForbidden)
	case v.refused:
		header[echo.HeaderContentType] = problemType
		res.WriteHeader(http.StatusTooManyRequests)
		if r.Method == http.MethodHead {
			return nil
		}
		_, err := res.Write(s.appendRefusal(nil, zoneID))
		return err
	default:
		res.WriteHeader(http.StatusOK)
		return nil
	}
}
