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

// newAgents returns the handlers of MCP requests, by whether the user may only read.
func (s *server) newAgents() map[bool]http.Handler {
	o := agents.Options{
		Version:  s.Version,
		MaxBody:  s.MaxBody,
		Requests: s.Requests,
		Simulate: s.Simulate != nil,
	}
	all := agents.Handler(o)
	o.ReadOnly = true
	return map[bool]http.Handler{false: all, true: agents.Handler(o)}
}

// mcp serves POST /_/mcp: the tools of an agent, by the Model Context Protocol. The tools work on
// the database or, if the path names a session, on the session, which then waits for a person.
func (req *request) mcp() error {
	if hasPreference(req.Context, preferRollback) {
		return problem.BadRequest("Prefer: tx=rollback has no effect on the tools. The tool write has try.")
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
	req.agents[req.refuseWrites() != nil].ServeHTTP(req.Writer, r)
	return nil
}

// An agent is the request of an agent. The request ends after the calls of the tools.
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
	u, _ := url.Parse(urlOf(a.Request)) // net/http has parsed the URL before
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

// Do implements agents.Service. It serves a request of the agent with the handler of all requests,
// so that reads, limits and errors have one implementation.
func (a *agent) Do(method, path string, body any, prefer string) (http.Header, []byte, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.done {
		return nil, nil, context.Canceled
	}
	if !strings.HasPrefix(path, "/_/") {
		path = a.Prefix + path
	}
	if a.session != nil && !openapi.IsOutside(path) {
		path = sessionPrefix + a.session.name + path
	}
	var text []byte
	if body != nil {
		text = httpx.Marshal(body)
	}
	ctx := addressedContext{Context: a.Request.Context()} // without the address of the agent's request
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("%q is not a path", path)
	}
	r.RequestURI = path
	r.TLS = a.Request.TLS
	r.Host = a.Request.Host
	r.RemoteAddr = a.Request.RemoteAddr
	r.Header = http.Header{
		pageHeader:     {"1"}, // no simulation, no recording
		"X-Request-Id": {a.id},
		"Content-Type": jsonTypes,
	}
	if prefer != "" {
		r.Header.Set("Prefer", prefer)
	}
	for _, name := range []string{"Authorization", "User-Agent"} {
		if v := a.Request.Header[name]; v != nil {
			r.Header[name] = v
		}
	}
	w := &answer{header: make(http.Header)}
	a.front.ServeHTTP(w, r)
	if w.status >= http.StatusBadRequest {
		return nil, nil, agents.Fault(w.body.Bytes())
	}
	return w.header, bytes.TrimSpace(w.body.Bytes()), nil
}

// An answer holds the response to a request of Do.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answer) Header() http.Header         { return w.header }
func (w *answer) WriteHeader(status int)      { w.status = status }
func (w *answer) Write(b []byte) (int, error) { return w.body.Write(b) }
