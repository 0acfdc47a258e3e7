package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"golang.org/x/net/http/httpguts"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// Values of CORS headers (Fetch standard, section 3.2).
const (
	allowMethods  = "GET, HEAD, QUERY, POST, PUT, PATCH, DELETE"
	allowHeaders  = "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, Pickup-Revision, Pickup-Session, Prefer, X-Request-Id"
	exposeHeaders = "Age, Allow, ETag, Link, Location, Retry-After, X-Total-Count, Content-Range, Preference-Applied, Accept-Patch, Accept-Query, Pickup-Revision, Pickup-Unchanged, Pickup-Session, Pickup-Session-New, Pickup-Simulated, X-Request-Id"
	preflightAge  = "600" // seconds
)

// crossOrigin lets pages of the allowed origins use the service. It refuses writes from other pages,
// because browsers would add remembered credentials. It does not affect other clients than browsers.
func (s *server) crossOrigin(c *gin.Context) {
	h := c.Writer.Header()
	h["Vary"] = varyOrigin
	origin := httpx.Header(c.Request.Header, "Origin")
	if path := c.FullPath(); strings.HasPrefix(path, "/_/requests") || strings.HasPrefix(path, "/_/mcp") {
		if isElsewhere(c.Request) {
			s.fail(c, requestsForbidden())
		}
		return
	}
	trust := s.trust(origin)
	allowed := trust > untrusted
	if allowed {
		if trust == trustedAsAny {
			origin = "*"
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", exposeHeaders)
		if trust == named || trust == local && s.Auth == nil {
			h.Set("Access-Control-Allow-Credentials", "true")
		}
	}
	if isPreflight(c.Request) {
		s.preflight(c, allowed)
		return
	}
	if !allowed && protection.Check(c.Request) != nil {
		s.fail(c, problem.New(http.StatusForbidden,
			"Pages from other origins may not write here: "+refusedOrigin(origin)+"."))
	}
}

// protection refuses writes from pages of other origins, by Sec-Fetch-Site and Origin.
var protection http.CrossOriginProtection

// mayWrite reports whether the sender of the request may use methods that are not safe. Only a page of
// an origin that is not allowed may not.
func (s *server) mayWrite(r *http.Request) bool {
	write := r.WithContext(r.Context())
	write.Method = http.MethodPost
	return s.trust(r.Header.Get("Origin")) > untrusted || protection.Check(write) == nil
}

// preflight responds to a preflight request, which has no credentials.
func (s *server) preflight(c *gin.Context, allowed bool) {
	h := c.Writer.Header()
	h.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	if !allowed {
		s.fail(c, problem.New(http.StatusForbidden, httpx.Sentence(refusedOrigin(c.Request.Header.Get("Origin")))))
		return
	}
	h.Set("Access-Control-Allow-Methods", allowMethods)
	h.Set("Access-Control-Allow-Headers", allowedHeaders(c.Request.Header["Access-Control-Request-Headers"]))
	h.Set("Access-Control-Max-Age", preflightAge)
	c.AbortWithStatus(http.StatusNoContent)
}

// allowedHeaders returns the headers that a page may send, given the headers that the page asks for: all
// with a valid name, except pageHeader, which identifies the service's own page.
func allowedHeaders(asked []string) string {
	if len(asked) == 0 {
		return allowHeaders
	}
	var names []string
	for name := range strings.SplitSeq(strings.Join(asked, ","), ",") {
		name = strings.TrimSpace(name)
		if httpguts.ValidHeaderFieldName(name) && !strings.EqualFold(name, pageHeader) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// refusedOrigin returns a clause that tells how to allow pages of an origin.
func refusedOrigin(origin string) string {
	if u, err := url.Parse(origin); err != nil || u.Scheme+"://"+u.Host != origin {
		return "the origin cannot be allowed with --cors-origin"
	}
	return fmt.Sprintf("the origin %s is not allowed; --cors-origin %[1]s allows it", httpx.Clip(origin))
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// A trust is the reason why pages of an origin may use the service.
type trust uint8

const (
	untrusted    trust = iota
	trustedAsAny       // CORSOrigins has *
	local              // a loopback address, on any port
	named              // in CORSOrigins
)

// trust returns why pages of an origin may use the service. "" is untrusted.
func (s *server) trust(origin string) trust {
	if origin == "" {
		return untrusted
	}
	if slices.ContainsFunc(s.CORSOrigins, func(o string) bool {
		return o != "*" && strings.EqualFold(strings.TrimSuffix(o, "/"), origin)
	}) {
		return named
	}
	if isLocalOrigin(origin) {
		return local
	}
	if slices.Contains(s.CORSOrigins, "*") {
		return trustedAsAny
	}
	return untrusted
}

// isLocalOrigin reports whether an origin has a loopback address.
func isLocalOrigin(origin string) bool {
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

// isElsewhere reports whether a page of another origin sends a request, even a page that may use the
// API.
func isElsewhere(r *http.Request) bool {
	return isCrossOrigin(r) || strings.HasSuffix(r.Header.Get("Sec-Fetch-Site"), "-site") // same-site or cross-site
}

func requestsForbidden() *problem.Problem {
	return problem.New(http.StatusForbidden, "Pages from other origins may not see the requests.")
}

// isOwnPage reports whether a request comes from a page of the service. Preflights never allow
// pageHeader for other origins. Browsers send Sec-Fetch-Site only to https and to this machine;
// without Sec-Fetch-Site, Origin decides, which a GET does not have.
func isOwnPage(r *http.Request) bool {
	if v := httpx.Header(r.Header, pageHeader); v != "1" && v != "docs" {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "" && !isCrossOrigin(r)
}

// isForeign reports whether a page of a site that is not allowed sends the request. Such a page cannot
// read responses, but with simulations it could occupy the server.
func (s *server) isForeign(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") == "cross-site" && s.trust(r.Header.Get("Origin")) == untrusted
}

// checkHost refuses requests for other hosts (421) if the server is on loopback addresses. If the name
// of a page resolves to 127.0.0.1 (DNS rebinding), the page is same-origin for all other checks. But
// its requests have that name as Host.
func (s *server) checkHost(c *gin.Context) {
	if s.Loopback && !s.isOwnHost(c.Request.Host) {
		s.fail(c, problem.Newf(http.StatusMisdirectedRequest,
			"The host %q is not allowed: use localhost or an IP address, or allow it with --allow-host.",
			httpx.Clip(c.Request.Host)))
	}
}

// isOwnHost reports whether host, with or without a port, names this server. A client of HTTP/1.0
// sends no host; it is no browser.
func (s *server) isOwnHost(host string) bool {
	name := strings.ToLower(strings.TrimSuffix((&url.URL{Host: host}).Hostname(), "."))
	if name == "" {
		return host == ""
	}
	if isLocalhost(name) {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return slices.ContainsFunc(s.AllowedHosts, func(allowed string) bool {
		return strings.EqualFold(strings.TrimSuffix(allowed, "."), name)
	})
}

// isLocalhost reports whether name always resolves to a loopback address (RFC 6761
// section 6.3).
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}
