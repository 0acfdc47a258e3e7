package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

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
	o.setDefaults()
	s := &server{
		Options:   o,
		db:        db,
		metrics:   o.Metrics,
		budget:    newBudget(o.MaxBody),
		requests:  requestlog.New(o.Log),
		drainings: make(chan struct{}, maxDrainings),
	}
	if s.metrics == nil {
		s.metrics = NewMetrics()
	} else {
		s.metrics.register(s)
	}
	s.sessions = sessions{server: s, byName: make(map[string]*session)}
	s.streams = live.Hubs{Max: o.MaxStreams, Stop: o.Stop, Requests: s.requests, Status: s.changingStatus}
	r := gin.New()
	r.RedirectTrailingSlash = false
	// The routes know their methods. Gin's search for the other methods of a path panics.
	r.HandleMethodNotAllowed = false
	// Gin would decode + in a name or id as a space. unescape does it right.
	r.UseEscapedPath = true
	r.UnescapePathValues = false
	// Otherwise every client could choose the address in the log.
	if err := r.SetTrustedProxies(nil); err != nil {
		panic(err) // only a malformed address is an error
	}
	r.Use(s.drain, setHeaders, s.observe, s.recover, closeUnauthenticated, s.checkHost,
		s.crossOrigin, s.authenticate, s.checkPreferences, s.checkConditions, s.simulate)
	r.NoRoute(s.notFound)
	s.agents = s.newAgents()
	s.register(r)
	s.front = &front{s, r}
	return s.front
}

// setDefaults sets the options that are zero.
func (o *Options) setDefaults() {
	o.MaxBody = cmp.Or(o.MaxBody, 10<<20)
	o.MaxStreams = cmp.Or(o.MaxStreams, 1024)
	o.MaxURL = cmp.Or(o.MaxURL, 32<<10)
	o.MaxDepth = cmp.Or(o.MaxDepth, rawjson.MaxDepth)
	o.MaxSessions = cmp.Or(o.MaxSessions, 256)
	o.SessionIdle = cmp.Or(o.SessionIdle, 10*time.Minute)
	o.SessionMemory = cmp.Or(o.SessionMemory, 256<<20)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Simulate != nil {
		simulation := *o.Simulate
		simulation.MaxDelay = cmp.Or(simulation.MaxDelay, time.Minute)
		if simulation.Dice == nil {
			simulation.Dice = simulate.Random()
		}
		o.Simulate = &simulation
	}
}

// LogUncommitted logs the uncommitted changes of kept sessions, which are lost when the server of a
// Handler stops.
func LogUncommitted(h http.Handler) {
	s := h.(*front).server
	for _, r := range s.sessions.reviews() {
		s.Log.Warn(fmt.Sprintf("the session %s had %s", r.Name, spell.Count(r.Changes, "uncommitted change")))
	}
}

// A front is the handler in front of Gin. It changes the path of a request to a path of routes.go:
// it removes the path of a session, applies Options.Routes, and removes Options.Prefix.
type front struct {
	*server
	next http.Handler
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !httpx.WantsStream(r) {
		f.serve(w, r)
		return
	}
	// A stream needs only the connection. It runs after Gin and the middleware have returned and
	// have freed the memory for the request.
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
	u.RawPath = path
	u.RawQuery = query
	var err error
	u.Path, err = url.PathUnescape(path)
	if err != nil {
		u.Path = noRoute
	}
	r = r.WithContext(addressedContext{r.Context(), p})
	r.URL = &u
	return r
}

// withoutPrefix returns a path of the API without the prefix. It returns noRoute for a path
// that lacks the prefix, or would become a path of the service.
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
