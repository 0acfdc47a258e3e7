package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A healthCommand requests /_/readyz of a running server. It is the health check of
// the container image, with the same variables as the server.
type healthCommand struct {
	address
	transport
}

// healthTimeout is the time for the response. Supervisors wait longer.
const healthTimeout = 3 * time.Second

func (c *healthCommand) run(ctx context.Context, e *environment) error {
	if c.Port == 0 {
		return usagef("health needs the port of the server (--port or PICKUP_PORT)")
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	host := net.JoinHostPort(reachable(c.Host), strconv.Itoa(c.Port))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.scheme()+"://"+host+"/_/readyz", nil)
	if err != nil {
		return usagef("%q is not an address: %w", c.Host, err)
	}
	// There is no proxy, because it might answer for the server. The certificate
	// is not verified: it is for the names that clients use, and the request
	// contains nothing secret.
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no server responds at %s: %w", host, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	// This is the response of net/http to a request without TLS.
	if !c.secure() && resp.StatusCode == http.StatusBadRequest && strings.Contains(string(body), "HTTP request to an HTTPS server") {
		return fmt.Errorf("the server at %s uses HTTPS: give health the same TLS flags or variables, such as --tls-self-signed", host)
	}
	var problem struct{ Detail string } // RFC 9457
	json.Unmarshal(body, &problem)      // without a detail, the status says it
	return fmt.Errorf("the server at %s is not ready: %s", host, cmp.Or(problem.Detail, resp.Status))
}

// reachable returns the address at which this machine reaches a server that listens
// on host.
func reachable(host string) string {
	switch ip := net.ParseIP(host); {
	case host == "", ip.Equal(net.IPv4zero):
		return "127.0.0.1"
	case ip.Equal(net.IPv6unspecified):
		return "::1"
	}
	return host
}
