package main

import (
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

// A healthCommand asks a running server's /_/readyz. The container image calls
// it as its health check, with the variables that its server got.
type healthCommand struct {
	address
	transport
}

// healthTimeout is how long a server may take to say that it is ready. It is
// shorter than any supervisor's own patience.
const healthTimeout = 3 * time.Second

func (c *healthCommand) run(ctx context.Context, e *environment) error {
	if c.Port == 0 {
		return usagef("health needs the port that the server listens on (--port or PICKUP_PORT)")
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	host := net.JoinHostPort(reachable(c.Host), strconv.Itoa(int(c.Port)))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.scheme()+"://"+host+"/_/readyz", nil)
	if err != nil {
		return usagef("%q is not an address: %w", c.Host, err)
	}
	// A proxy of the environment must not answer for the server. Its
	// certificate is for the names that clients use, not for the address that
	// is asked here, and nothing secret is sent.
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w", host, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	// What net/http answers to a request without TLS.
	if !c.secure() && resp.StatusCode == http.StatusBadRequest && strings.Contains(string(body), "HTTP request to an HTTPS server") {
		return fmt.Errorf("the server at %s speaks HTTPS: health needs to be told with its flags or variables, such as --tls-self-signed", host)
	}
	return fmt.Errorf("the server at %s is not ready: %s", host, problemText(resp.Status, body))
}

// problemText returns the detail of a problem document (RFC 9457), else
// status.
func problemText(status string, body []byte) string {
	var problem struct{ Detail string }
	if json.Unmarshal(body, &problem) != nil || problem.Detail == "" {
		return status
	}
	return problem.Detail
}

// reachable returns the address under which a server that listens on host is
// found from this machine.
func reachable(host string) string {
	if host == "" {
		return "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if ip.To4() == nil {
			return "::1"
		}
		return "127.0.0.1"
	}
	return host
}
