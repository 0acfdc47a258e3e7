package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pickup/internal/config"
	"pickup/internal/spell"
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
	u.Path, u.RawQuery = strings.TrimSuffix(u.Path, "/")+"/_/changes", ""
	if c.Since != "" {
		u.RawQuery = url.Values{"_since": {c.Since}}.Encode()
	}
	req := (&http.Request{URL: u, Header: http.Header{"Accept": {"text/event-stream"}}}).WithContext(ctx)
	terminal := isTerminal(e.stdout)
	p := &eventPrinter{changePrinter{bufio.NewWriter(e.stdout), terminal && e.Getenv("NO_COLOR") == ""}, c.Since != ""}
	print := p.print
	if c.JSON == nil && !terminal || c.JSON != nil && *c.JSON {
		print = p.printJSON
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: c.TLSSelfSigned}
	for lost := false; ; lost = true {
		err := followChanges(&http.Client{Transport: transport}, req, print, func() {
			fmt.Fprintf(e.stderr, "pickup: connected to %s\n", server)
			lost = false
		})
		if ctx.Err() != nil {
			return nil
		}
		if _, again := errors.AsType[lostError](err); !again {
			return err
		}
		if !lost {
			fmt.Fprintf(e.stderr, "pickup: no connection to %s: %v; trying again\n", server, err)
		}
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
		}
	}
}

// url returns the URL of the server, with the user and the password if there is one.
func (c *tailCommand) url(e *environment) (*url.URL, error) {
	text, err := c.URL, error(nil)
	if text == "" {
		if text, err = c.Address.URL(c.Transport); err != nil {
			return nil, err
		}
	} else if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	return parseServer(e, text)
}

// parseServer parses the URL of a server. It adds the user and the password of the variables
// unless the URL has a password.
func parseServer(e *environment, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, config.Usagef("URL is not a server, such as http://localhost:3000")
	}
	if _, given := u.User.Password(); !given {
		name, password, err := config.ReadUser(e.Getenv)
		if err != nil {
			return nil, err
		}
		name = cmp.Or(u.User.Username(), name)
		if u.User = nil; password != "" {
			u.User = url.UserPassword(name, password)
		}
	}
	return u, nil
}

// A lostError is the loss of a connection: another attempt may succeed.
type lostError struct{ error }

// followChanges prints the events of one connection until it ends, and calls connected when the
// server has responded. It adds the last event to req, for the next connection.
func followChanges(client *http.Client, req *http.Request, print func(event string, data []byte) error, connected func()) error {
	resp, err := client.Do(req)
	if err != nil {
		return lostError{errors.Unwrap(err)} // the error of net/http has the URL
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		return refusal(req, resp)
	}
	connected()
	var event, id, data string
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
		case "data": // one line, because JSON needs no other
			data = value
		case "": // the end of an event, or a comment
			if event != "" {
				if err := print(event, []byte(data)); err != nil {
					return err
				}
			}
			if id != "" {
				req.Header.Set("Last-Event-ID", id)
			}
			event = ""
		}
	}
}

// refusal returns the error of a response that is no stream of changes.
func refusal(req *http.Request, resp *http.Response) error {
	err := errors.New(detail(resp))
	switch resp.StatusCode {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return lostError{err}
	case http.StatusUnauthorized:
		if u := req.URL.User; u != nil {
			return fmt.Errorf("%s rejects the user %s or the password", req.URL.Host, spell.Printable(u.Username()))
		}
		return fmt.Errorf("%s needs a password: set PICKUP_PASSWORD, or use http://USER:PASSWORD@HOST", req.URL.Host)
	case http.StatusBadRequest:
		return config.Usagef("--since: %w", err)
	case http.StatusOK, http.StatusNotFound:
		return fmt.Errorf("%s has no stream of changes: it is not pickup, or an older version", req.URL.Host)
	}
	return fmt.Errorf("%s responds with %w", req.URL.Host, err)
}

// detail returns what the problem in a response says or, without one, the status.
func detail(resp *http.Response) string { return problemOf(resp).Detail }

// problemOf returns the problem in a response. Without one, its detail is the status.
func problemOf(resp *http.Response) (p problem) {
	json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&p) // an error leaves it empty
	p.Detail = cmp.Or(p.Detail, resp.Status)
	return p
}
