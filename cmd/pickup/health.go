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
	server, err := serverURL(c.address, c.transport)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/_/readyz", nil)
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
		return fmt.Errorf("no server responds at %s (set --host and --port as for the server): %w", server, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	// This is the response of net/http to a request without TLS.
	if !c.secure() && resp.StatusCode == http.StatusBadRequest && strings.Contains(string(body), "HTTP request to an HTTPS server") {
		return fmt.Errorf("the server at %s uses HTTPS: give health the same TLS flags or variables, such as --tls-self-signed", server)
	}
	var problem struct{ Detail string } // RFC 9457
	json.Unmarshal(body, &problem)      // without a detail, the status says it
	return fmt.Errorf("the server at %s is not ready: %s", server, cmp.Or(problem.Detail, resp.Status))
}

// serverURL returns the URL of the server that has these settings.
func serverURL(a address, t transport) (string, error) {
	if a.Port == 0 {
		return "", usagef("the port of the server is not known: set --port or PICKUP_PORT")
	}
	return t.scheme() + "://" + net.JoinHostPort(reachable(a.Host), strconv.Itoa(a.Port)), nil
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
