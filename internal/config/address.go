package config

import (
	"net"
	"strconv"
	"strings"
)

// An Address is where serve listens, and where health and tail ask.
type Address struct {
	Host string `short:"H" default:"localhost" variable:"PICKUP_HOST" placeholder:"ADDRESS" help:"Address of the server; localhost is 127.0.0.1 and ::1 (${default})."`
	Port int    `short:"p" default:"3000" range:"0 65535" variable:"PICKUP_PORT" placeholder:"PORT" help:"Port of the server; 0 picks a free one (${default})."`
}

// URL returns the URL at which this machine reaches the server.
func (a Address) URL(t Transport) (string, error) {
	if a.Port == 0 {
		return "", Usagef("the port of the server is unknown: set --port or PICKUP_PORT")
	}
	return t.Scheme() + "://" + net.JoinHostPort(Reachable(a.Host), strconv.Itoa(a.Port)), nil
}

// Reachable returns the address at which this machine reaches a server on host.
func Reachable(host string) string {
	ip := net.ParseIP(host)
	if host == "" || ip.Equal(net.IPv4zero) {
		return "127.0.0.1"
	}
	if ip.Equal(net.IPv6unspecified) {
		return "::1"
	}
	return host
}

// IsLocalhost reports whether host is the name of the loopback addresses (RFC 6761 section
// 6.3). The name is not looked up.
func IsLocalhost(host string) bool { return strings.EqualFold(host, "localhost") }

// OnlyLoopback reports whether only this machine reaches a server on host.
func OnlyLoopback(host string) (bool, error) {
	if IsLocalhost(host) {
		return true, nil
	}
	addr, err := net.ResolveIPAddr("ip", host)
	if err != nil {
		return false, Usagef("--host: %w; use an address of this machine, such as localhost", err)
	}
	return addr.IP.IsLoopback(), nil
}
