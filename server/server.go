package server

import (
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"pickup"
)

// Options say how a Handler meets its clients. The zero value is open to
// whoever reaches it: no credentials, no log, bodies of up to 10 MiB.
type Options struct {
	// Auth reports whether the credentials are good. It is called for each
	// request, by many goroutines at once. nil: none are asked for.
	Auth func(user, password string) bool

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

	// AccessLog gets one record for each request, without its query and its
	// credentials. nil: none.
	AccessLog *slog.Logger

	// Log gets what went wrong on this side. nil: it is discarded.
	Log *slog.Logger

	// Version is shown by the index.
	Version string
}

const defaultMaxBody = 10 << 20

// A server is what all requests share.
type server struct {
	Options
	db      *pickup.DB
	answers shelf
}

func init() { gin.SetMode(gin.ReleaseMode) }

// Handler returns a handler that serves db. It reads the request's path, not a
// part of it, so it stands at the root of a host.
func Handler(db *pickup.DB, o Options) http.Handler {
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{Options: o, db: db}
	r := gin.New()
	r.RedirectTrailingSlash = false
	r.HandleMethodNotAllowed = false // the resource knows its methods, gin does not
	// Without it every client could choose the address that is logged.
	if err := r.SetTrustedProxies(nil); err != nil {
		panic(err) // only a malformed address could be refused
	}
	r.Use(requestID)
	if o.AccessLog != nil {
		r.Use(s.logAccess)
	}
	r.Use(s.recover, headers, s.checkHost, s.crossOrigin(), s.authenticate)
	r.NoRoute(s.serve) // there are no routes: route decides
	return r
}
