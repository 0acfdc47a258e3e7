package server

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// checkHost refuses requests for a host that is not ours (421). A page can give
// its own name the address 127.0.0.1 and is then same-origin with us for every
// other check (DNS rebinding); what it cannot do is send another name than its
// own.
func (s *server) checkHost(c *gin.Context) {
	if s.Loopback && !s.ours(c.Request.Host) {
		s.fail(c, wrongHost(clip(c.Request.Host)))
	}
}

// ours reports whether host, with or without a port, names this server. No
// host at all is a client of HTTP/1.0, and so no browser.
func (s *server) ours(host string) bool {
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

// isLocalhost reports whether name is one that resolvers keep to this machine
// (RFC 6761 section 6.3).
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// hostname returns host without its port, brackets and final dot.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.TrimSuffix(host, ".")
}
