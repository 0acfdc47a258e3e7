package server

import (
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/rewrite"
	"pickup/internal/storage"
	"pickup/server/auth"
	"pickup/server/envelope"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
	"pickup/server/internal/requestlog"
	"pickup/server/simulate"
)

// Options configures a Handler. The zero value serves everyone: it has no
// authentication and no log.
type Options struct {
	// Auth checks the credentials of clients. nil: no authentication.
	Auth *auth.Verifier

	// User is the name of a user that a 401 on a loopback address may show. "": none.
	User string

	// CORSOrigins are origins whose pages may use the service, in addition to those
	// of loopback addresses: "https://app.example", or "*" for all.
	CORSOrigins []string

	// Loopback reports that the server listens on loopback addresses only. The Host
	// of a request must then be localhost, an IP address or one of AllowedHosts, so
	// that no page can reach the server by its own name (DNS rebinding).
	Loopback     bool
	AllowedHosts []string // names without port

	// Prefix is what the paths of the API begin with, such as /api. The paths of the
	// service, below /_/, do not have it. "": nothing.
	Prefix string

	// Answers is the form of lists and records, except for the service's own page. nil: plain.
	Answers *envelope.Form

	// Routes returns the routes by which paths of the API are rewritten, the prefix
	// included. It may be called by several goroutines at once, and may return nil. nil: none.
	Routes func() *rewrite.Table

	// Static lists folders served for paths that the API does not handle. With SPA, the
	// index.html of a folder is served for an unknown path if a browser expects a page there.
	// Private returns files and folders that must not be served under any name. Several
	// goroutines may call Private at once. nil: none.
	Static  []string
	SPA     bool
	Private func() []string

	// NoPage leaves out the page at /_/.
	NoPage bool

	// NoCompression sends answers as they are, whatever codings a client accepts.
	NoCompression bool

	// ReadOnly refuses writes with 405.
	ReadOnly bool

	// MaxBody is the maximum size of a request body in bytes. 0: 10 MiB.
	MaxBody int64

	// MaxURL is the maximum length of a request target in bytes; 0: 32 KiB. MaxDepth
	// is the maximum depth of a body, up to 256; 0: 256.
	MaxURL, MaxDepth int

	// MaxTerms is the maximum number of different parameters of a query, up to 32;
	// 0: 32. MaxPage is the maximum number of records of a page; 0: no limit. It
	// does not apply to a list without parameters for paging.
	MaxTerms, MaxPage int

	// ReadLatest shows the latest state of a cluster to reads that do not say which
	// they want. MaxStale refuses them with 503 if it has not been known for so long
	// that no other server has overtaken this one; 0: never.
	ReadLatest bool
	MaxStale   time.Duration

	// MaxStreams is the number of streams that may be open at a time. 0: 1,024.
	MaxStreams int

	// MaxSessions is the number of sessions that there may be at a time. 0: 256.
	// Less than 0: there are none, and a request that names one is refused.
	MaxSessions int

	// SessionIdle is the time after which a session ends that no request uses.
	// 0: 10 minutes.
	SessionIdle time.Duration

	// SessionMemory is the number of bytes of changed values that all sessions
	// together may hold. 0: 256 MiB.
	SessionMemory int64

	// Stop ends all streams when it is closed. A stream would otherwise keep
	// http.Server.Shutdown waiting. nil: they end with their clients.
	Stop <-chan struct{}

	// Metrics are served at /_/metrics. nil: none.
	Metrics *Metrics

	// Writable returns why writes fail at present, nil if they do not. It may be called by
	// several goroutines at once. nil: it is not known.
	Writable func() error

	// Checks are shown by readyz?verbose in addition to its own.
	Checks []Check

	// AccessLog receives a record for each request except successful health checks,
	// without its headers and with what may be secret in its query hidden. With
	// AccessDetails, it also has the reason of an error, and no records of preflights and
	// of the service's own pages. nil: no access log.
	AccessLog     *slog.Logger
	AccessDetails bool

	// Requests keeps the latest requests in memory, for GET /_/requests.
	Requests bool

	// Log receives internal errors. nil: they are discarded.
	Log *slog.Logger

	// Simulate lets requests and rules ask for slow, failing and fixed responses. nil:
	// such preferences and parameters are ignored.
	Simulate *Simulation

	// Findings are what is wrong with the database. nil: it is not known.
	Findings Findings

	// Source and Rules return the state of the database's file and of its rules, for
	// GET /_/status; Rules may return nil. They may be called by several goroutines
	// at once. nil: it is not shown.
	Source func() SourceFile
	Rules  func() *SourceFile

	// Addresses returns the URLs at which other machines may reach the service, for
	// GET /_/status. It may be called by several goroutines at once. nil: none.
	Addresses func() []string

	// Ephemeral is shown by GET /_/status: writes do not change the file.
	Ephemeral bool

	// Version is shown by the index.
	Version string
}

// A Simulation lets requests and rules ask for slow, failing and fixed responses.
type Simulation struct {
	// Stubs has the rules of the configuration. nil: none.
	Stubs *simulate.Stubs

	// Delay is the delay of all requests for which nothing else is said.
	Delay simulate.Range

	// MaxDelay is the maximum time of a delay or a hold. 0: 60 s.
	MaxDelay time.Duration

	// Dice decide about percentages and ranges. nil: random.
	Dice simulate.Dice
}

// Findings are what is wrong with a database. Their methods may be called by
// several goroutines at once. A lint.Linter implements them.
type Findings interface {
	// List returns the findings from start to end, which is exclusive, and how many
	// there are in all.
	List(start, end int) (found []lint.Finding, count int)

	// Count returns how many there are. While it is pending, it is the number of an
	// earlier state.
	Count() (n int, pending bool)
}

// A Check is a line of readyz?verbose. It does not change the status: a service
// whose new certificate cannot be used continues with the previous one.
type Check struct {
	Name string
	OK   func() bool
}

// A SourceFile is a file that the service reads, as GET /_/status shows it.
type SourceFile struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size,omitempty"`
	Modified time.Time `json:"modified,omitzero"`
	Folder   bool      `json:"-"`     // it has a file for each collection
	State    string    `json:"state"` // ok, or broken: it cannot be used
	Line     int       `json:"line,omitempty"`
	Column   int       `json:"column,omitempty"`
	Detail   string    `json:"detail,omitempty"` // what is wrong

	// Collection is the collection or object whose file of a folder is broken.
	Collection string `json:"collection,omitempty"`

	Excerpt rawjson.Excerpt `json:"excerpt,omitzero"` // of the line that is broken
}

// A server is the state that all requests share.
type server struct {
	Options
	db           *database.DB
	budget       budget
	responses    responseCache
	streams      live.Hubs
	sessions     sessions
	simulation   simulation
	metrics      *Metrics // Options.Metrics, or others that nobody sees
	requests     *requestlog.Log
	front        http.Handler
	agents       map[bool]http.Handler // of MCP, by whether the user may only read; nil: none
	service      []link                // the service's own resources, for the index
	revision     atomic.Pointer[revisionValue]
	unknown      sync.Map      // what logOnce has logged, by [3]string
	unknownCount atomic.Int32  // of these
	drainings    chan struct{} // has a value for each request that drain reads on
	pageAlone    sync.Once     // log how a page of version 1 is requested
}

// A revisionValue is a value of Pickup-Revision. Requests share the last to save allocations.
type revisionValue struct {
	run   string
	rev   storage.Rev
	value []string
}

type link struct {
	Name    string `json:"name"`
	Href    string `json:"href"`
	outside bool   // see openapi.IsOutside
}

// keeper names the kind of store of the database.
func (s *server) keeper() string { return problem.Keeper(s.db) }

// writeError returns why writes fail although the server is not read-only, nil if they do not.
func (s *server) writeError() error {
	if s.ReadOnly || s.Writable == nil {
		return nil
	}
	return s.Writable()
}
