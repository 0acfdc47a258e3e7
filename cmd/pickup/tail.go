package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pickup/internal/config"
)

// A tailCommand prints the changes of a running server as they happen.
type tailCommand struct {
	URL string `arg:"" optional:"" help:"The server, such as http://localhost:3000 or https://USER@HOST; by default the one at --host and --port."`
	config.Address
	config.Transport
	Since string `placeholder:"ID" help:"Begin after the revision with this id, such as 7KQ2AB-42."`
	JSON  *bool  `name:"json" negatable:"" help:"Print each event as a JSON object on a line; the default unless standard output is a terminal."`
}

// retryAfter is the time from the loss of a connection to the next attempt.
const retryAfter = 2 * time.Second

func (c *tailCommand) run(ctx context.Context, e *environment) error {
	u, err := c.url(e)
	if err != nil {
		return err
	}
	server := u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")
	u.RawQuery = ""
	if c.Since != "" {
		u.RawQuery = url.Values{"_since": {c.Since}}.Encode()
	}
	terminal := isTerminal(e.stdout)
	p := &eventPrinter{changePrinter{bufio.NewWriter(e.stdout), terminal && e.Getenv("NO_COLOR") == ""}, c.Since != ""}
	print := p.print
	if c.JSON == nil && !terminal || c.JSON != nil && *c.JSON {
		print = p.printJSON
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: c.TLSSelfSigned}
	f := &follower{client: client{http: http.Client{Transport: transport}, server: u}, print: print}
	for lost := false; ; lost = true {
		err := f.follow(ctx, func() {
			fmt.Fprintf(e.stderr, "pickup: connected to %s\n", server)
			lost = false
		})
		if ctx.Err() != nil {
			return nil
		}
		why, again := errors.AsType[lostError](err)
		if !again {
			return err
		}
		if !lost {
			fmt.Fprintf(e.stderr, "pickup: no connection to %s: %v; trying again\n", server, why)
		}
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
		}
	}
}

// url returns the URL of the server, with the user and, if known, the password.
func (c *tailCommand) url(e *environment) (*url.URL, error) {
	text := c.URL
	if text == "" {
		var err error
		text, err = c.Address.URL(c.Transport)
		if err != nil {
			return nil, err
		}
	} else if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	return parseServer(e, text)
}

// A follower prints the events of a server.
type follower struct {
	client
	print func(event string, data []byte) error
	last  string // the id of the last event, for the next connection
}

// follow prints the events of one connection until the end, and calls connected after the
// response.
func (f *follower) follow(ctx context.Context, connected func()) error {
	resp, err := f.do(ctx, http.MethodGet, "/_/changes", nil, "Accept", "text/event-stream", "Last-Event-ID", f.last)
	if err != nil {
		return f.refusal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		return f.refusal(&refusedError{status: http.StatusNotFound})
	}
	connected()
	var event, data string
	id := f.last // a comment at the start must not change last
	for r := bufio.NewReader(resp.Body); ; {
		line, err := r.ReadString('\n')
		if err != nil { // the event of the last lines is not complete
			return lostError{errors.New("the connection was closed")}
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch value = strings.TrimSpace(value); name {
		case "event":
			event = value
		case "id":
			id = value
		case "data": // one line, as all JSON of the server
			data = value
		case "": // the end of an event, or a comment
			if event != "" {
				if err := f.print(event, []byte(data)); err != nil {
					return err
				}
			}
			event, f.last = "", id
		}
	}
}

// refusal returns the error of a request without a stream of changes.
func (f *follower) refusal(err error) error {
	refused, ok := errors.AsType[*refusedError](err)
	if !ok {
		return err
	}
	switch refused.status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return lostError{err}
	case http.StatusBadRequest:
		return config.Usagef("--since: %w", err)
	case http.StatusNotFound:
		return fmt.Errorf("%s has no stream of changes: it is not pickup, or an older version", f.server.Host)
	}
	return fmt.Errorf("%s responds with %w", f.server.Host, err)
}
