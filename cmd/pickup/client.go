package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A client sends the requests of a command to a server.
type client struct {
	http   http.Client
	server *url.URL // with the user and the password, if known

	prefix    string // prefix of the paths of the API, such as /api, except those below /_/
	maxBody   int64  // maximum size of a request body in bytes
	relations []database.Relation
}

// localClient returns a client of a server on this machine. The client uses no proxy, because a
// proxy might respond for the server, and does not verify the certificate, which is for other
// names.
func localClient(server *url.URL) *client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	return &client{server: server, http: http.Client{Transport: transport}}
}

// A refusedError is an unsuccessful response: the problem details (RFC 9457) or else the
// status.
type refusedError struct {
	status int
	Detail string // a sentence
	Errors []struct{ Pointer, Detail string }
}

func (e *refusedError) Error() string { return e.Detail }

// A lostError is the loss of a connection: another attempt may succeed.
type lostError struct{ error }

// openOrAsk opens an existing file for writing, or returns a client of the server of the file.
func openOrAsk(ctx context.Context, e *environment, path string) (*filestore.Store, *client, error) {
	store, inUse := openFile(ctx, e, path, filestore.Options{MustExist: true})
	address := ""
	if errors.Is(inUse, storage.ErrInUse) {
		address = filestore.ServerURL(path)
	}
	if address == "" {
		return store, nil, inUse
	}
	server, err := parseServer(e, address)
	if err != nil {
		return nil, nil, err
	}
	c := localClient(server)
	text, _, err := c.send(ctx, http.MethodGet, "/_/status", nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; %w", inUse, err)
	}
	var status struct {
		Prefix    string
		Limits    struct{ Body int64 }
		Relations []database.Relation
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, nil, fmt.Errorf("%w; %s is not pickup, or an older version", inUse, address)
	}
	c.prefix = status.Prefix
	c.maxBody = status.Limits.Body
	c.relations = status.Relations
	return nil, c, nil
}

// send is like do, but returns the body and the header of the response.
func (c *client) send(
	ctx context.Context, method, path string, body []byte, header ...string,
) ([]byte, http.Header, error) {
	resp, err := c.do(ctx, method, path, body, header...)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return text, resp.Header, err
}

// do sends a request with a body of JSON; nil is no body. header lists names and values in
// turn. The error wraps a lostError if there is no response, and is a *refusedError if the
// response is not a success. The error of a 401 names the password to set.
func (c *client) do(ctx context.Context, method, path string, body []byte, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.server.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		// The error of net/http itself contains the password.
		return nil, fmt.Errorf("%s: %w", c.server.Host, lostError{errors.Unwrap(err)})
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		if u := req.URL.User; u != nil {
			name := spell.Printable(u.Username())
			return nil, fmt.Errorf("%s rejects the user %s or the password", c.server.Host, name)
		}
		return nil, fmt.Errorf("%s needs a password: set PICKUP_PASSWORD", c.server.Host)
	}
	refused := &refusedError{status: resp.StatusCode}
	json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(refused) // after an error, refused stays empty
	refused.Detail = cmp.Or(refused.Detail, resp.Status)
	return nil, refused
}

// parseServer parses the URL of a server. Unless the URL has a password, parseServer adds the
// user and the password of the variables.
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
		u.User = nil
		if password != "" {
			u.User = url.UserPassword(name, password)
		}
	}
	return u, nil
}
