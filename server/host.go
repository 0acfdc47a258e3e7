package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// checkHost refuses requests for other hosts (421) if the server is on loopback
// addresses. A page whose name resolves to 127.0.0.1 is same-origin for all other
// checks (DNS rebinding), but its requests have its name as Host.
func (s *server) checkHost(c *gin.Context) {
	if s.Loopback && !s.isOwnHost(c.Request.Host) {
		s.fail(c, problem.New(http.StatusMisdirectedRequest, fmt.Sprintf(
			"The host %q is not allowed: use localhost or an IP address. --allow-host adds a name.", httpx.Clip(c.Request.Host))))
	}
}

// isOwnHost reports whether host, with or without a port, names this server. An
// empty host is that of a client of HTTP/1.0, which is not a browser.
func (s *server) isOwnHost(host string) bool {
	name := strings.ToLower(hostname(host))
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

// hostname returns host without its port, brackets and final dot.
func hostname(host string) string {
	return strings.TrimSuffix((&url.URL{Host: host}).Hostname(), ".")
}
