package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"pickup/filestore"
	"pickup/internal/config"
)

// A healthCommand requests /_/readyz of a running server. The container image uses the command
// as the health check.
type healthCommand struct {
	config.Address
	config.Transport
}

// healthTimeout is the time for the response. Supervisors wait longer.
const healthTimeout = 3 * time.Second

func (c *healthCommand) run(ctx context.Context, e *environment) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	server, err := c.server(ctx, e)
	if err != nil {
		return err
	}
	u, err := url.Parse(server)
	if err != nil {
		return config.Usagef("%q is not an address: %w", c.Host, err)
	}
	_, _, err = localClient(u).send(ctx, http.MethodGet, "/_/readyz", nil)
	refused, responds := errors.AsType[*refusedError](err)
	switch {
	case err == nil:
		return nil
	case !responds:
		return fmt.Errorf("no server responds at %s (set --host and --port as for the server): %w", server, err)
	case u.Scheme == "http" && refused.status == http.StatusBadRequest: // of net/http to a request without TLS
		return fmt.Errorf("the server at %s uses HTTPS: give health the same TLS flags or variables, "+
			"such as --tls-self-signed", server)
	}
	return fmt.Errorf("the server at %s is not ready: %w", server, err)
}

// server returns the URL of the server: from flags, or else of the server in the same
// container, or else of the server of the database.
func (c *healthCommand) server(ctx context.Context, e *environment) (string, error) {
	if slices.ContainsFunc(e.parsed.Path, func(p *kong.Path) bool { return p.Flag != nil && !p.Resolved }) {
		return c.Address.URL(c.Transport)
	}
	a, t := c.Address, c.Transport
	db := e.Path("")
	unknown := e.Used["port"] == ""
	if s, of := serverInContainer(ctx, e); s != nil {
		a, t = s.Address, s.Transport
		db = of.Path(s.File)
		unknown = false
	}
	if unknown || a.Port == 0 {
		if url := filestore.ServerURL(db); url != "" {
			return url, nil
		}
	}
	return a.URL(t)
}

// serverInContainer returns the command and the settings of the server in this container: the
// process with the same program and working directory. Outside of a container,
// serverInContainer returns nil.
func serverInContainer(ctx context.Context, e *environment) (*serveCommand, *environment) {
	if !e.container {
		return nil, nil
	}
	program, _ := os.Stat("/proc/self/exe") // without a file there is no same file
	here, _ := os.Stat(".")
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, p := range processes {
		exe, _ := os.Stat(p + "/exe")
		dir, _ := os.Stat(p + "/cwd")
		text, _ := os.ReadFile(p + "/cmdline") // arguments, each with a zero at the end
		args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if len(text) == 0 || !os.SameFile(program, exe) || !os.SameFile(here, dir) {
			continue // another program, another server, or an ended server
		}
		of := &environment{
			Sources:   &config.Sources{Getenv: e.Getenv},
			container: true,
			stdout:    io.Discard,
			stderr:    io.Discard,
		}
		if command, err := parse(ctx, args[1:], of); err == nil {
			if s, ok := command.(*serveCommand); ok {
				return s, of
			}
		}
	}
	return nil, nil
}
