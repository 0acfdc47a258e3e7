package server

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// What pages of other origins may do (CORS, Fetch standard section 3.2).
// Access-Control-Allow-Credentials is never sent: a page has to know the
// credentials, those that the browser remembers are not for it.
const (
	allowMethods  = "GET, HEAD, QUERY, POST, PUT, PATCH, DELETE"
	allowHeaders  = "Authorization, Content-Type, If-Match, If-None-Match, Prefer, X-Request-Id"
	exposeHeaders = "ETag, Link, Location, X-Total-Count, Content-Range, Preference-Applied, Pickup-Kept, Accept-Patch, Accept-Query, X-Request-Id"
	preflightAge  = "600" // seconds
)

// crossOrigin lets pages of the allowed origins in and keeps others from
// writing: browsers send remembered credentials with what a hostile page makes
// them send. Programs that are no browser are not concerned.
func (s *server) crossOrigin() gin.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c *gin.Context) {
		h := c.Writer.Header()
		h["Vary"] = varyOrigin
		origin := c.Request.Header.Get("Origin")
		allowed := origin != "" && s.allows(origin)
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
			s.fail(c, crossOrigin("A page of another origin may not write here. --cors-origin allows one."))
		}
	}
}

// preflight answers a browser's question whether a page may send a request. It
// carries no credentials and changes nothing.
func (s *server) preflight(c *gin.Context, allowed bool) {
	h := c.Writer.Header()
	h.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	if !allowed {
		s.fail(c, crossOrigin("Pages of this origin are not allowed. --cors-origin allows one."))
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

// allows reports whether pages of origin may use the service: those of a
// loopback address, on any port, and those of the options.
func (s *server) allows(origin string) bool {
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

// foreign reports whether a request comes from a page of another origin than
// the server's own.
func isCrossOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}
