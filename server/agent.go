//go:build !nomcp

package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"pickup/server/agents"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// newAgents returns a function that returns the handler of MCP requests for users who may
// write, and for others.
func (s *server) newAgents() func(readOnly bool) http.Handler {
	o := agents.Options{Version: s.Version, MaxBody: s.MaxBody, Requests: s.Requests, Simulate: s.Simulate != nil}
	all := agents.Handler(o)
	o.ReadOnly = true
	reading := agents.Handler(o)
	return func(readOnly bool) http.Handler {
		if readOnly {
			return reading
		}
		return all
	}
}

// mcp serves POST /_/mcp: the tools of an agent, by the Model Context Protocol. The path says
// on what it works: the database, or a session, which waits for a person.
func (req *request) mcp() error {
	if hasPreference(req.Context, preferRollback) {
		return problem.New(http.StatusBadRequest, "Prefer: tx=rollback has no effect on the tools. The tool write has try.")
	}
	text, err := req.readText()
	if err != nil {
		return err
	}
	if req.session != nil {
		req.sessions.mu.Lock()
		req.sessions.keepLocked(req.session)
		req.sessions.mu.Unlock()
	}
	a := &agent{request: req, id: requestIDOf(req.Context)}
	defer a.end()
	r := req.Request.WithContext(agents.With(req.Request.Context(), a))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	req.agents(req.refuseWrites() != nil).ServeHTTP(req.Writer, r)
	return nil
}

// An agent is the request of an agent. It ends after the calls of its tools.
type agent struct {
	*request
	id string // of the request

	mu   sync.RWMutex // held by calls for reading
	done bool         // guarded by mu
}

func (a *agent) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
}

// Session implements agents.Service.
func (a *agent) Session() string {
	if a.session == nil {
		return ""
	}
	return a.session.name
}

// ReviewURL implements agents.Service.
func (a *agent) ReviewURL() string {
	u, _ := url.Parse(urlOf(a.Request)) // it was parsed before
	return u.Scheme + "://" + u.Host + "/_/#/_/sessions"
}

// Recovered implements agents.Service.
func (a *agent) Recovered(v any) error {
	a.Log.Error("request failed", "id", a.id, "error", httpx.PanicError(v))
	return errors.New("500 Internal Server Error: the log of the server has the cause")
}

// IsObject implements agents.Service.
func (a *agent) IsObject(name string) (bool, error) {
	snap := a.db.Snapshot()
	what := memberOf(snap, name)
	if what == nothing || !openapi.HasPath(name) {
		return false, agents.Fault(httpx.Marshal(a.noCollection(snap, name)))
	}
	return what == object, nil
}

// Do implements agents.Service. It sends the request through the handler, as the agent, so
// that there is one implementation of reads, limits and errors.
func (a *agent) Do(method, path string, body any, prefer string) (http.Header, []byte, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.done {
		return nil, nil, context.Canceled
	}
	below, _, _ := strings.Cut(strings.TrimPrefix(path, "/_/"), "?")
	below, _, _ = strings.Cut(below, "/")
	if !strings.HasPrefix(path, "/_/") {
		path = a.Prefix + path
	}
	if a.session != nil && below != "sessions" && below != "requests" {
		path = sessionPrefix + a.session.name + path
	}
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%q is not a path", path)
	}
	r := &http.Request{Method: method, URL: u, RequestURI: path, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, TLS: a.Request.TLS,
		Host: a.Request.Host, RemoteAddr: a.Request.RemoteAddr, Header: http.Header{pageHeader: {"1"}}, Body: http.NoBody} // not simulated, not recorded
	r.Header.Set("X-Request-Id", a.id)
	if prefer != "" {
		r.Header.Set("Prefer", prefer)
	}
	for _, name := range []string{"Authorization", "User-Agent"} {
		if v := a.Request.Header[name]; v != nil {
			r.Header[name] = v
		}
	}
	if body != nil {
		text := httpx.Marshal(body)
		r.Header.Set("Content-Type", openapi.JSONType)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	w := &answer{header: make(http.Header)}
	a.front.ServeHTTP(w, r.WithContext(addressedContext{Context: a.Request.Context()})) // it has its own address
	if w.status >= http.StatusBadRequest {
		return nil, nil, agents.Fault(w.body.Bytes())
	}
	return w.header, bytes.TrimSpace(w.body.Bytes()), nil
}

// An answer keeps the answer to a request of Do.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answer) Header() http.Header         { return w.header }
func (w *answer) WriteHeader(status int)      { w.status = status }
func (w *answer) Write(b []byte) (int, error) { return w.body.Write(b) }
