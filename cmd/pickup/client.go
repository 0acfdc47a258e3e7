package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A client sends the requests of a command to the server that has its file.
type client struct {
	http   http.Client
	server *url.URL // with the user and the password, if there is one

	prefix    string // what the paths of the API begin with, such as /api; not those below /_/
	maxBody   int64  // bytes that the body of a request may have
	relations []database.Relation
}

// A refusedError is an answer of a server that is not a success.
type refusedError struct {
	status int
	problem
}

// A problem is what an answer of a server says is wrong (RFC 9457).
type problem struct {
	Detail string // a sentence
	Errors []struct{ Pointer, Detail string }
}

func (e *refusedError) Error() string { return e.Detail }

// openOrAsk returns the store of a file that exists, to write it, or else a client of the
// server that has the file.
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
	// There is no proxy, because it might answer for the server. The certificate is not
	// verified: it is for the names that clients use, and the address is one of this machine.
	c := &client{server: server, http: http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
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
	c.prefix, c.maxBody, c.relations = status.Prefix, status.Limits.Body, status.Relations
	return nil, c, nil
}

// send sends a request with a body of JSON, unless that is nil, and returns the answer. header
// has names, each with its value after it. The error of an answer that is not a success is a
// *refusedError, except that of 401, which says which password to set.
func (c *client) send(ctx context.Context, method, path string, body []byte, header ...string) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.server.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.server.Host, errors.Unwrap(err)) // the error of net/http has the password
	}
	defer resp.Body.Close()
	switch u := req.URL.User; {
	case resp.StatusCode == http.StatusUnauthorized && u != nil:
		return nil, nil, fmt.Errorf("%s rejects the user %s or the password", c.server.Host, spell.Printable(u.Username()))
	case resp.StatusCode == http.StatusUnauthorized:
		return nil, nil, fmt.Errorf("%s needs a password: set PICKUP_PASSWORD", c.server.Host)
	case resp.StatusCode >= 300:
		return nil, nil, &refusedError{resp.StatusCode, problemOf(resp)}
	}
	answer, err := io.ReadAll(resp.Body)
	return answer, resp.Header, err
}
