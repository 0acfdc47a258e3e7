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
	URL string `arg:"" optional:"" help:"The server, such as http://localhost:3000 or https://USER@HOST; by default that of --host and --port."`
	config.Address
	config.Transport
	Since string `placeholder:"ID" help:"Begin after the revision with this id, such as 7KQ2AB-42."`
	JSON  *bool  `name:"json" negatable:"" help:"Print each event as a JSON object on a line; the default unless standard output is a terminal."`
}

const (
	retryAfter = time.Second      // from the loss of a connection to the next attempt
	retryMost  = 10 * time.Second // between two attempts
	maxSilence = time.Minute      // a server sends something every 15 seconds
)

func (c *tailCommand) run(ctx context.Context, e *environment) error {
	u, user, err := c.target(e)
	if err != nil {
		return err
	}
	t := &tail{server: strings.TrimSuffix(u.String(), "/"), url: u.JoinPath("_/changes"), user: user, log: e.stderr}
	if c.Since != "" {
		t.url.RawQuery = url.Values{"_since": {c.Since}}.Encode()
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: c.TLSSelfSigned}
	t.client.Transport = transport
	terminal := isTerminal(e.stdout)
	p := &changePrinter{w: e.stdout, color: terminal && e.Getenv("NO_COLOR") == "", following: c.Since != ""}
	t.print = p.print
	if asJSON := c.JSON; asJSON != nil && *asJSON || asJSON == nil && !terminal {
		t.print = p.printJSON
	}
	return t.run(ctx)
}

// target returns the URL of the server and the credentials to use, nil without a
// password.
func (c *tailCommand) target(e *environment) (*url.URL, *url.Userinfo, error) {
	text := c.URL
	if text == "" {
		var err error
		if text, err = c.Address.URL(c.Transport); err != nil {
			return nil, nil, err
		}
	} else if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, config.Usagef("URL is not that of a server, such as http://localhost:3000")
	}
	user := u.User
	u.User = nil
	if _, ok := user.Password(); ok {
		return u, user, nil
	}
	name, password, err := config.ReadUser(e.Getenv)
	if err != nil || password == "" {
		return u, nil, err
	}
	return u, url.UserPassword(cmp.Or(user.Username(), name), password), nil
}

// A tail follows the changes of a server.
type tail struct {
	server string   // its URL, for messages
	url    *url.URL // of its changes
	user   *url.Userinfo
	client http.Client
	print  func(event) error
	log    io.Writer

	id     string // of the last event
	logged string // the state of the connection that was logged last
}

// An event is a server-sent event. Its data is an object.
type event struct {
	name string
	data []byte
}

// A finalError is one that another attempt would repeat.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// run prints events until ctx is done. It replaces a connection that is lost.
func (t *tail) run(ctx context.Context) error {
	pause := retryAfter
	for {
		responded, err := t.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if final, ok := errors.AsType[finalError](err); ok {
			return final.error
		}
		if responded {
			pause = retryAfter
		}
		t.report("no connection to", fmt.Sprintf(": %v; trying again", err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, retryMost)
	}
}

// report logs a change of the state of the connection.
func (t *tail) report(state, why string) {
	if t.logged != state {
		t.logged = state
		fmt.Fprintf(t.log, "pickup: %s %s%s\n", state, t.server, why)
	}
}

// follow prints the events of one connection until that ends, and reports whether
// the server has responded with a stream.
func (t *tail) follow(ctx context.Context) (responded bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(maxSilence, func() { cancel(errors.New("the server is silent")) })
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return false, finalError{err}
	}
	req.Header.Set("Accept", "text/event-stream")
	if t.id != "" {
		req.Header.Set("Last-Event-ID", t.id)
	}
	if t.user != nil {
		password, _ := t.user.Password()
		req.SetBasicAuth(t.user.Username(), password)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return false, cmp.Or(context.Cause(ctx), errors.Unwrap(err)) // that of net/http has the URL
	}
	defer resp.Body.Close()
	if err := t.check(resp); err != nil {
		return false, err
	}
	t.report("connected to", "")
	var ev event
	id := t.id
	for r := bufio.NewReader(resp.Body); ; silence.Reset(maxSilence) {
		line, err := r.ReadString('\n')
		if err != nil { // the event of the last lines is not complete
			return true, cmp.Or(context.Cause(ctx), errors.New("the connection was closed"))
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			ev.name = value
		case "id":
			id = value
		case "data": // one line, because JSON needs no other
			ev.data = []byte(value)
		case "": // the end of an event
			if ev.name != "" {
				if err := t.print(ev); err != nil {
					return true, finalError{err}
				}
			}
			t.id, ev = id, event{}
		}
	}
}

// check returns an error unless the response is a stream of changes.
func (t *tail) check(resp *http.Response) error {
	if resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Type") == "text/event-stream" {
		return nil
	}
	var problem struct{ Detail string } // RFC 9457
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	json.Unmarshal(text, &problem) // without a detail, the status says it
	err := errors.New(cmp.Or(problem.Detail, resp.Status))
	switch resp.StatusCode {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return err
	case http.StatusUnauthorized:
		if t.user == nil {
			err = fmt.Errorf("%s needs a password: set PICKUP_PASSWORD, or use http://USER:PASSWORD@HOST", t.server)
		} else {
			err = fmt.Errorf("%s rejects the user %s or the password", t.server, spell.Printable(t.user.Username()))
		}
	case http.StatusBadRequest:
		err = config.Usagef("--since: %w", err)
	case http.StatusOK, http.StatusNotFound:
		err = fmt.Errorf("%s has no stream of changes: it is not pickup, or an older version", t.server)
	default:
		err = fmt.Errorf("%s responds with %w", t.server, err)
	}
	return finalError{err}
}
