package server

import (
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"

	"pickup/internal/rawjson"
	"pickup/server/auth"
)

// Options say how a Handler meets its clients. The zero value is open to
// whoever reaches it: no credentials, no log, bodies of up to 10 MiB.
type Options struct {
	// Auth says who may use the service. nil: no credentials are asked for.
	Auth *auth.Verifier

	// CORSOrigins are origins whose pages may use the service, beside those of
	// loopback addresses: "https://app.example", or "*" for all.
	CORSOrigins []string

	// Loopback says that the server listens on a loopback address only. Then a
	// request must name localhost, an IP address or one of AllowedHosts as its
	// host, so that no page can reach it through a name of its own (DNS
	// rebinding).
	Loopback     bool
	AllowedHosts []string // names without port

	// ReadOnly refuses writes with 405.
	ReadOnly bool

	// MaxBody is the greatest size of a request body in bytes. 0: 10 MiB.
	MaxBody int64

	// MaxURL is the greatest length of a request's target in bytes, MaxDepth
	// that of nested arrays and objects in a body, 256 at most. 0: 32 KiB; 256.
	MaxURL, MaxDepth int

	// MaxTerms is how many different parameters a query may have, 32 at most,
	// and MaxPage how many records a page may be asked to have. 0: 32; any
	// number. A list that asks for no page is whole.
	MaxTerms, MaxPage int

	// MaxStreams is the number of streams that may be open at a time. 0: 1,024.
	MaxStreams int

	// Stop ends all streams when it is closed. A stream would otherwise keep
	// http.Server.Shutdown waiting. nil: they end with their clients.
	Stop <-chan struct{}

	// Metrics count what happens and answer at /_/metrics. nil: there are none.
	Metrics *Metrics

	// Checks are named by readyz?verbose beside its own.
	Checks []Check

	// AccessLog gets one record for each request, without its query and its
	// credentials. nil: none.
	AccessLog *slog.Logger

	// Log gets what went wrong on this side. nil: it is discarded.
	Log *slog.Logger

	// Findings returns what a person should look at in the database, for
	// readyz?verbose. It is called by many goroutines at once. nil: nothing is
	// looked for.
	Findings func() []Finding

	// Version is shown by the index.
	Version string
}

const (
	defaultMaxBody = 10 << 20
	defaultMaxURL  = 32 << 10
)

// A server is what all requests share. But for what it remembers it does not
// change.
type server struct {
	Options
	db                      *database.DB
	budget                  budget
	responses               responseCache
	streams                 streams
	described, describedAll atomic.Pointer[described]
}

func init() { gin.SetMode(gin.ReleaseMode) }

// Handler returns a handler that serves db. It reads the request's path, not a
// part of it, so it stands at the root of a host.
func Handler(db *database.DB, o Options) http.Handler {
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.MaxStreams <= 0 {
		o.MaxStreams = defaultMaxStreams
	}
	if o.MaxURL <= 0 {
		o.MaxURL = defaultMaxURL
	}
	if o.MaxDepth <= 0 || o.MaxDepth > rawjson.MaxDepth {
		o.MaxDepth = rawjson.MaxDepth
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{Options: o, db: db, budget: newBudget(o.MaxBody)}
	r := gin.New()
	r.RedirectTrailingSlash = false
	// The route knows the methods of what is there. Gin's own look at the other
	// methods of a path panics after some that it does not find.
	r.HandleMethodNotAllowed = false
	// Names and ids are decoded by choose: Gin would decode + as a space.
	r.UseEscapedPath, r.UnescapePathValues = true, false
	// Without it every client could choose the address that is logged.
	if err := r.SetTrustedProxies(nil); err != nil {
		panic(err) // only a malformed address could be refused
	}
	r.Use(requestID)
	if o.Metrics != nil {
		o.Metrics.of(db)
		r.Use(o.Metrics.measure)
	}
	if o.AccessLog != nil {
		r.Use(s.logAccess)
	}
	r.Use(s.recover, headers, closeUnauthenticated, s.checkHost, s.crossOrigin(), s.authenticate)
	r.NoRoute(s.notFound)
	s.register(r)
	return r
}
