package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"pickup/filestore"
	"pickup/internal/config"
)

// A healthCommand requests /_/readyz of a running server. It is the health check of
// the container image.
type healthCommand struct {
	config.Address
	config.Transport
}

// healthTimeout is the time for the response. Supervisors wait longer.
const healthTimeout = 3 * time.Second

func (c *healthCommand) run(ctx context.Context, e *environment) error {
	server, err := c.server(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/_/readyz", nil)
	if err != nil {
		return config.Usagef("%q is not an address: %w", c.Host, err)
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
	// net/http responds like this to a request without TLS.
	if strings.HasPrefix(server, "http:") && resp.StatusCode == http.StatusBadRequest {
		return fmt.Errorf("the server at %s uses HTTPS: give health the same TLS flags or variables, such as --tls-self-signed", server)
	}
	return fmt.Errorf("the server at %s is not ready: %s", server, detail(resp))
}

// server returns the URL of the server to ask: the one that flags name, or else the one
// in the same container, or else the one that has the database.
func (c *healthCommand) server(e *environment) (string, error) {
	if slices.ContainsFunc(e.parsed.Path, func(p *kong.Path) bool { return p.Flag != nil && !p.Resolved }) {
		return c.Address.URL(c.Transport)
	}
	a, t, db := c.Address, c.Transport, config.FileArgument{}.Path(e.Sources)
	unknown := e.Used["port"] == ""
	if s, of := serverInContainer(e); s != nil {
		a, t, db, unknown = s.Address, s.Transport, s.Path(of.Sources), false
	}
	if unknown || a.Port == 0 {
		if url := filestore.ServerURL(db); url != "" {
			return url, nil
		}
	}
	return a.URL(t)
}

// serverInContainer returns the server that this container is for, with its environment.
// It parses the arguments and variables of each process that runs this program in this
// working directory. It returns nil outside of a container.
func serverInContainer(e *environment) (*serveCommand, *environment) {
	if !e.container {
		return nil, nil
	}
	program, err := os.Stat("/proc/self/exe")
	if err != nil {
		return nil, nil
	}
	here, err := os.Stat(".")
	if err != nil {
		return nil, nil
	}
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, p := range processes {
		exe, err := os.Stat(p + "/exe")
		if err != nil || !os.SameFile(program, exe) {
			continue // another program, or one of another user
		}
		if dir, err := os.Stat(p + "/cwd"); err != nil || !os.SameFile(here, dir) {
			continue // another server, in a container with several
		}
		args, vars := procStrings(p+"/cmdline"), procStrings(p+"/environ")
		if len(args) == 0 {
			continue // it has ended
		}
		of := &environment{Sources: new(config.Sources), container: true, stdout: io.Discard, stderr: io.Discard}
		of.Getenv = func(name string) string {
			for _, v := range vars {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if command, err := parse(args[1:], of); err == nil {
			if s, ok := command.(*serveCommand); ok {
				return s, of
			}
		}
	}
	return nil, nil
}

// procStrings returns the strings of a file in /proc, each of which ends with a zero. It
// returns none if the file cannot be read.
func procStrings(name string) []string {
	text, _ := os.ReadFile(name)
	all := strings.Split(string(text), "\x00")
	return all[:len(all)-1]
}
