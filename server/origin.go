package server

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/server/openapi"
)

// Values of CORS headers (Fetch standard, section 3.2). The header
// Access-Control-Allow-Credentials is never sent: a page must know the
// credentials, and cannot use those that the browser remembers.
const (
	allowMethods  = "GET, HEAD, QUERY, POST, PUT, PATCH, DELETE"
	allowHeaders  = "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, Pickup-Revision, Pickup-Session, Prefer, X-Request-Id"
	exposeHeaders = "Age, ETag, Link, Location, X-Total-Count, Content-Range, Preference-Applied, Accept-Patch, Accept-Query, Pickup-Revision, Pickup-Session, Pickup-Session-New, Pickup-Simulated, X-Request-Id"
	preflightAge  = "600" // seconds
)

// crossOrigin lets pages of the allowed origins use the service, and refuses writes
// from other pages, with which browsers would send remembered credentials. It
// does not affect clients other than browsers.
func (s *server) crossOrigin() gin.HandlerFunc {
	return func(c *gin.Context) {
		h := c.Writer.Header()
		h["Vary"] = varyOrigin
		origin := c.Request.Header.Get("Origin")
		if strings.HasPrefix(c.FullPath(), openapi.RequestsPath) {
			if isCrossOrigin(c.Request) || strings.HasSuffix(c.Request.Header.Get("Sec-Fetch-Site"), "-site") { // same-site or cross-site
				s.fail(c, newProblem(http.StatusForbidden, "Pages of other origins may not see the requests."))
			}
			return
		}
		allowed := origin != "" && s.allowsOrigin(origin)
		if allowed {
			if slices.Contains(s.CORSOrigins, "*") {
				origin = "*"
			}
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", exposeHeaders)
		}
		if isPreflight(c.Request) {
			s.preflight(c, allowed)
			return
		}
		if !allowed && protection.Check(c.Request) != nil {
			s.fail(c, newProblem(http.StatusForbidden, "A page of another origin may not write here. --cors-origin allows one."))
		}
	}
}

// protection refuses writes from pages of other origins, by Sec-Fetch-Site and Origin.
var protection http.CrossOriginProtection

// mayWrite reports whether the page that sends the request, if it is one, may use
// methods that are not safe.
func (s *server) mayWrite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && s.allowsOrigin(origin) {
		return true
	}
	write := r.WithContext(r.Context())
	write.Method = http.MethodPost
	return protection.Check(write) == nil
}

// preflight answers a preflight request, which has no credentials.
func (s *server) preflight(c *gin.Context, allowed bool) {
	h := c.Writer.Header()
	h.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	if !allowed {
		s.fail(c, newProblem(http.StatusForbidden, "Pages of this origin are not allowed. --cors-origin allows one."))
		return
	}
	h.Set("Access-Control-Allow-Methods", allowMethods)
	h.Set("Access-Control-Allow-Headers", allowHeaders)
	h.Set("Access-Control-Max-Age", preflightAge)
	c.AbortWithStatus(http.StatusNoContent)
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// allowsOrigin reports whether pages of origin may use the service: pages of a
// loopback address on any port, and those of CORSOrigins.
func (s *server) allowsOrigin(origin string) bool {
	if slices.ContainsFunc(s.CORSOrigins, func(o string) bool {
		return o == "*" || strings.EqualFold(strings.TrimSuffix(o, "/"), origin)
	}) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != origin {
		return false
	}
	name := strings.ToLower(u.Hostname())
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.IsLoopback()
	}
	return isLocalhost(name)
}

// isCrossOrigin reports whether a request comes from a page of another origin.
func isCrossOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}
