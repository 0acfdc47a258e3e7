package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"pickup/internal/config"
	"pickup/internal/rawjson"
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

const (
	retryAfter = 2 * time.Second // from the loss of a connection to the next attempt
	maxSilence = time.Minute     // a server sends something every 15 seconds
)

func (c *tailCommand) run(ctx context.Context, e *environment) error {
	req, err := c.request(e)
	if err != nil {
		return err
	}
	terminal := isTerminal(e.stdout)
	p := &changePrinter{w: bufio.NewWriter(e.stdout), color: terminal && e.Getenv("NO_COLOR") == "", following: c.Since != ""}
	print := p.print
	if asJSON := c.JSON; asJSON != nil && *asJSON || asJSON == nil && !terminal {
		print = p.printJSON
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: c.TLSSelfSigned}
	client, server := &http.Client{Transport: transport}, strings.TrimSuffix(req.URL.Scheme+"://"+req.URL.Host+req.URL.Path, "/_/changes")
	for lost := false; ; lost = true {
		err := followChanges(ctx, client, req, print, func() { fmt.Fprintf(e.stderr, "pickup: connected to %s\n", server); lost = false })
		switch {
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, errLost):
			return err
		case !lost:
			fmt.Fprintf(e.stderr, "pickup: no connection to %s: %v; trying again\n", server, err)
		}
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
		}
	}
}

// request returns the request for the changes, with a password if there is one.
func (c *tailCommand) request(e *environment) (*http.Request, error) {
	text := c.URL
	if text == "" {
		var err error
		if text, err = c.Address.URL(c.Transport); err != nil {
			return nil, err
		}
	} else if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, config.Usagef("URL is not a server, such as http://localhost:3000")
	}
	name, password := u.User.Username(), ""
	if given, ok := u.User.Password(); ok {
		password = given
	} else if user, set, err := config.ReadUser(e.Getenv); err != nil {
		return nil, err
	} else {
		name, password = cmp.Or(name, user), set
	}
	u.User = nil
	u = u.JoinPath("_/changes")
	if c.Since != "" {
		u.RawQuery = url.Values{"_since": {c.Since}}.Encode()
	}
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if password != "" {
		req.SetBasicAuth(name, password)
	}
	return req, nil
}

// A lostError is the loss of a connection: another attempt may succeed.
type lostError struct{ error }

func (lostError) Is(target error) bool { return target == errLost }

var errLost = errors.New("the connection was lost")

// followChanges prints the events of one connection until it ends, and calls connected when the
// server has responded. It adds the last event to req, for the next connection.
func followChanges(ctx context.Context, client *http.Client, req *http.Request, print func(name string, data []byte) error, connected func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(maxSilence, func() { cancel(errors.New("the server is silent")) })
	defer silence.Stop()
	resp, err := client.Do(req.WithContext(ctx))
	if err != nil {
		return lostError{cmp.Or(context.Cause(ctx), errors.Unwrap(err))} // the error of net/http has the URL
	}
	defer resp.Body.Close()
	if err := checkStream(req, resp); err != nil {
		return err
	}
	connected()
	var event string
	var data []byte
	id := req.Header.Get("Last-Event-ID")
	for r := bufio.NewReader(resp.Body); ; silence.Reset(maxSilence) {
		line, err := r.ReadString('\n')
		if err != nil { // the event of the last lines is not complete
			return lostError{cmp.Or(context.Cause(ctx), errors.New("the connection was closed"))}
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "event":
			event = value
		case "id":
			id = value
		case "data": // one line, because JSON needs no other
			data = []byte(value)
		case "": // the end of an event
			if event != "" {
				if err := print(event, data); err != nil {
					return err
				}
			}
			req.Header.Set("Last-Event-ID", id)
			event, data = "", nil
		}
	}
}

// checkStream returns an error unless the response is a stream of changes.
func checkStream(req *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Type") == "text/event-stream" {
		return nil
	}
	var problem struct{ Detail string } // RFC 9457
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	json.Unmarshal(text, &problem) // without a detail, the status says it
	err := errors.New(cmp.Or(problem.Detail, resp.Status))
	user, _, known := req.BasicAuth()
	switch resp.StatusCode {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return lostError{err}
	case http.StatusUnauthorized:
		if known {
			return fmt.Errorf("%s rejects the user %s or the password", req.URL.Host, spell.Printable(user))
		}
		return fmt.Errorf("%s needs a password: set PICKUP_PASSWORD, or use http://USER:PASSWORD@HOST", req.URL.Host)
	case http.StatusBadRequest:
		return config.Usagef("--since: %w", err)
	case http.StatusOK, http.StatusNotFound:
		return fmt.Errorf("%s has no stream of changes: it is not pickup, or an older version", req.URL.Host)
	}
	return fmt.Errorf("%s responds with %w", req.URL.Host, err)
}

// A changePrinter prints the events of GET /_/changes.
type changePrinter struct {
	w         *bufio.Writer
	color     bool
	following bool // a reset means that changes are missing
}

// printJSON prints an event as one object on a line.
func (p *changePrinter) printJSON(name string, data []byte) error {
	data = bytes.TrimPrefix(data, []byte("{"))
	comma := ","
	if string(data) == "}" {
		comma = ""
	}
	fmt.Fprintf(p.w, "{\"event\":%q%s%s\n", name, comma, data)
	return p.w.Flush()
}

// print prints an event for people: a change as the lines of each record that it
// removes and adds.
func (p *changePrinter) print(name string, data []byte) error {
	var event struct {
		Detail  string // of broken
		Rev     string // of change and reset, as what follows
		At      time.Time
		By      string
		Changes []struct {
			Collection, ID, Op string
			Before, After      json.RawMessage
			Records            int // of a large collection that was made or removed
		}
		Collections map[string]int // the numbers of changes, if there are too many to list
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return fmt.Errorf("cannot read an event: %w", err)
	}
	switch name {
	case "broken":
		p.line(red, "broken: "+event.Detail)
	case "mended":
		p.line(green, "mended: the file parses again")
	case "reset":
		if p.following {
			p.line(yellow, "reset: the changes up to "+event.Rev+" are not known")
		}
		p.following = true
	case "change":
		p.line(yellow, event.Rev+"  "+event.At.Local().Format(time.DateTime)+"  "+event.By)
		for _, name := range slices.Sorted(maps.Keys(event.Collections)) {
			p.line(plain, name+": "+spell.Count(event.Collections[name], "change"))
		}
		for _, ch := range event.Changes {
			what := strings.TrimSuffix(ch.Op+" "+ch.Collection+"/"+ch.ID, "/")
			if ch.Records > 0 {
				what += ": " + spell.Count(ch.Records, "record")
			}
			p.line(plain, what)
			p.diff(ch.Before, ch.After)
		}
		p.following = true
	}
	return p.w.Flush()
}

// diff prints the fields in which two objects differ, or two other values.
func (p *changePrinter) diff(before, after []byte) {
	removed := func(text ...[]byte) { p.line(red, "-   "+string(bytes.Join(text, []byte(": ")))) }
	added := func(text ...[]byte) { p.line(green, "+   "+string(bytes.Join(text, []byte(": ")))) }
	if len(before) > 0 && before[0] != '{' {
		removed(before)
	}
	for name, value := range rawjson.Members(before) {
		now, kept := rawjson.Member(after, rawjson.Unquote(name))
		if kept && bytes.Equal(value, now) {
			continue
		}
		removed(name, value)
		if kept {
			added(name, now)
		}
	}
	for name, value := range rawjson.Members(after) {
		if _, kept := rawjson.Member(before, rawjson.Unquote(name)); !kept {
			added(name, value)
		}
	}
	if len(after) > 0 && after[0] != '{' {
		added(after)
	}
}

// line prints a line in a color.
func (p *changePrinter) line(color, text string) {
	text = replaceControls(text, unicode.ReplacementChar)
	if p.color && color != plain {
		text = color + text + plain
	}
	p.w.WriteString(text + "\n") // Flush returns its error
}
