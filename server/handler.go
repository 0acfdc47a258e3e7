package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/rewrite"
	"pickup/internal/spell"
	"pickup/server/internal/httpx"
	"pickup/server/internal/live"
	"pickup/server/internal/requestlog"
	"pickup/server/simulate"
)

func init() { gin.SetMode(gin.ReleaseMode) }

// Handler returns a handler that serves db.
func Handler(db *database.DB, o Options) http.Handler {
	o.MaxBody = cmp.Or(max(o.MaxBody, 0), defaultMaxBody)
	o.MaxStreams = cmp.Or(max(o.MaxStreams, 0), defaultMaxStreams)
	o.MaxURL = cmp.Or(max(o.MaxURL, 0), defaultMaxURL)
	o.MaxSessions = cmp.Or(o.MaxSessions, defaultMaxSessions)
	o.SessionIdle = cmp.Or(max(o.SessionIdle, 0), defaultSessionIdle)
	o.SessionMemory = cmp.Or(max(o.SessionMemory, 0), defaultSessionMemory)
	if o.MaxDepth <= 0 || o.MaxDepth > rawjson.MaxDepth {
		o.MaxDepth = rawjson.MaxDepth
	}
	if o.Simulate != nil {
		simulation := *o.Simulate
		simulation.MaxDelay = cmp.Or(max(simulation.MaxDelay, 0), defaultMaxDelay)
		if simulation.Dice == nil {
			simulation.Dice = simulate.Random()
		}
		o.Simulate = &simulation
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{Options: o, db: db, budget: newBudget(o.MaxBody), requests: requestlog.New(o.Log), drainings: make(chan struct{}, maxDrainings)}
	s.metrics = o.Metrics
	if s.metrics == nil {
		s.metrics = NewMetrics()
	}
	s.sessions = sessions{db: db, byName: make(map[string]*session), max: o.MaxSessions, idle: o.SessionIdle, memory: o.SessionMemory, changed: func() { s.simulation.changed(db) }, metrics: s.metrics}
	s.streams = live.Hubs{Max: o.MaxStreams, Stop: o.Stop, Requests: s.requests, Status: s.changingStatus}
	r := gin.New()
	r.RedirectTrailingSlash = false
	// The route knows the methods of what is there. Gin's own look at the other
	// methods of a path panics after some that it does not find.
	r.HandleMethodNotAllowed = false
	// Names and ids are decoded by choose: Gin would decode + as a space.
	r.UseEscapedPath, r.UnescapePathValues = true, false
	// Otherwise every client could choose the address that is logged.
	if err := r.SetTrustedProxies(nil); err != nil {
		panic(err) // only a malformed address is an error
	}
	if o.Metrics != nil {
		o.Metrics.register(s)
	}
	r.Use(s.drain, setRequestID, s.observe, s.recover, setHeaders, closeUnauthenticated, s.checkHost, s.crossOrigin, s.authenticate, s.checkPreferences, s.checkConditions, s.simulate)
	r.NoRoute(s.notFound)
	s.agents = s.newAgents()
	s.register(r)
	s.front = &front{s, r}
	return s.front
}

// LogUncommitted logs what is lost when the server of a Handler stops: the changes that
// wait for a person.
func LogUncommitted(h http.Handler) {
	s := h.(*front).server
	for _, r := range s.sessions.reviews() {
		s.Log.Warn(fmt.Sprintf("the session %s had %s that nobody has committed", r.Name, spell.Count(r.Changes, "change")))
	}
}

// A front is the handler in front of Gin. It takes off what a path has before the
// paths of routes.go: the path of a session, then Options.Prefix. Before the prefix
// it applies Options.Routes. A request that none of them concerns passes as it is.
type front struct {
	*server
	next http.Handler
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !httpx.WantsStream(r) {
		f.serve(w, r)
		return
	}
	// A stream needs no more than its connection: it runs when Gin and the middleware
	// have returned, and what they need for a request is free again.
	var s *stream
	f.serve(w, r.WithContext(context.WithValue(r.Context(), streamKey{}, &s)))
	if s != nil {
		s.run(w, r)
	}
}

func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	var table *rewrite.Table
	if f.Routes != nil {
		table = f.Routes()
	}
	if f.Prefix != "" || table != nil || strings.HasPrefix(r.URL.Path, sessionPrefix) {
		r = f.move(r, table)
	}
	f.next.ServeHTTP(w, r)
}

// move returns the request with the path that Gin matches.
func (f *front) move(r *http.Request, table *rewrite.Table) *http.Request {
	p := &address{sent: r.URL}
	p.session, p.path = cutSession(r.URL.EscapedPath())
	path, query := p.path, r.URL.RawQuery
	if table != nil && !rewrite.IsService(path) {
		path, query, _ = table.Rewrite(path, query)
		if rewrite.IsService(path) {
			path = noRoute
		}
	}
	if !rewrite.IsService(path) {
		path = f.withoutPrefix(path)
	}
	u := *r.URL
	var err error
	if u.Path, err = url.PathUnescape(path); err != nil {
		u.Path = noRoute
	}
	u.RawPath, u.RawQuery = path, query
	r = r.WithContext(addressedContext{r.Context(), p})
	r.URL = &u
	return r
}

// withoutPrefix returns a path of the API without the prefix. It returns noRoute
// for a path that does not have the prefix, or would be one of the service then.
func (f *front) withoutPrefix(path string) string {
	rest, ok := strings.CutPrefix(path, f.Prefix)
	if ok && rest == "" {
		return "/"
	}
	if !ok || rest[0] != '/' || rewrite.IsService(rest) {
		return noRoute
	}
	return rest
}
