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

// Options configures a Handler. The zero value serves everyone: it has no authentication and no log.
type Options struct {
	Auth *auth.Verifier // checks the credentials of clients; nil: no authentication
	User string         // user that a 401 on a loopback address may show; "": none

	// CORSOrigins lists origins whose pages may use the service, such as "https://app.example", or
	// "*" for all. Pages of loopback addresses always may.
	CORSOrigins []string

	// Loopback reports that the server listens on loopback addresses only. The Host of a request
	// must then be localhost, an IP address or one of AllowedHosts. Otherwise a page could reach
	// the server by the page's own name (DNS rebinding).
	Loopback     bool
	AllowedHosts []string // names without port

	// Prefix is the start of the paths of the API, such as /api; "": none. Paths of the service,
	// below /_/, have no prefix.
	Prefix string

	// Answers is the form of lists and records; nil: plain. The service's own page gets the plain form.
	Answers *envelope.Form

	// Routes returns the table that rewrites paths of the API, with the prefix. Several goroutines
	// may call Routes at once. Routes and its result may be nil.
	Routes func() *rewrite.Table

	// Static lists folders served for paths that the API does not handle. With SPA, the
	// index.html of a folder is served for an unknown path if a browser expects a page there.
	// Private returns files and folders that must not be served under any name. Several
	// goroutines may call Private at once. nil: none.
	Static  []string
	SPA     bool
	Private func() []string

	NoPage        bool // leave out the page at /_/
	NoCompression bool // never compress responses
	ReadOnly      bool // refuse writes with 405

	MaxBody  int64 // bytes of a request body; 0: 10 MiB
	MaxURL   int   // bytes of a request target; 0: 32 KiB
	MaxDepth int   // depth of a body, up to 256; 0: 256
	MaxTerms int   // different parameters of a query, up to 32; 0: 32
	MaxPage  int   // records of a page, not of a list without parameters for paging; 0: no limit

	// ReadLatest serves reads without Pickup-Revision from the latest state of a cluster. MaxStale
	// refuses such reads with 503 after the cluster has not answered for so long; 0: never.
	ReadLatest bool
	MaxStale   time.Duration

	MaxStreams    int           // open streams; 0: 1,024
	MaxSessions   int           // sessions; 0: 256; less than 0: a request that names a session is refused
	SessionIdle   time.Duration // time after which an unused session ends; 0: 10 minutes
	SessionMemory int64         // bytes of changed values of all sessions together; 0: 256 MiB

	// Stop is closed to end all streams, which would otherwise block http.Server.Shutdown. nil:
	// streams end with their clients.
	Stop <-chan struct{}

	Metrics *Metrics // served at /_/metrics; nil: none

	// Writable returns why writes fail at present, nil if writes succeed. Several goroutines may
	// call Writable at once. nil: unknown.
	Writable func() error

	Checks []Check // more lines of readyz?verbose

	// AccessLog receives a record for each request except successful health checks, without
	// headers and with secrets in the query hidden. With AccessDetails, the record also has the
	// reason of an error, and preflights and requests of the service's own pages are left out. nil:
	// no access log.
	AccessLog     *slog.Logger
	AccessDetails bool

	Requests bool         // keep the latest requests in memory, for GET /_/requests
	Log      *slog.Logger // receives internal errors; nil: none

	// Simulate lets requests and rules ask for slow, failing and fixed responses. nil: such
	// preferences and parameters are ignored.
	Simulate *Simulation

	Findings Findings // what is wrong with the database; nil: unknown

	// Source and Rules return the state of the database's file and of the rules, for
	// GET /_/status. Rules may return nil. Several goroutines may call both at once. nil: not shown.
	Source func() SourceFile
	Rules  func() *SourceFile

	// Addresses returns the URLs at which other machines may reach the service, for
	// GET /_/status. Several goroutines may call Addresses at once. nil: none.
	Addresses func() []string

	Ephemeral bool   // shown by GET /_/status: writes do not change the file
	Version   string // shown by the index
}

// A Simulation lets requests and rules ask for slow, failing and fixed responses.
type Simulation struct {
	Stubs    *simulate.Stubs // the rules of the configuration
	Delay    simulate.Range  // the delay of all requests without another delay
	MaxDelay time.Duration   // maximum time of a delay or a hold; 0: 60 s
	Dice     simulate.Dice   // decides about percentages and ranges; nil: random
}

// Findings lists what is wrong with a database. Several goroutines may call the methods at once. A
// lint.Linter implements Findings.
type Findings interface {
	// List returns the findings from start up to, but not including, end, and the number of all
	// findings.
	List(start, end int) (found []lint.Finding, count int)

	// Count returns the number of findings. If pending is set, the number is from an earlier state.
	Count() (n int, pending bool)
}

// A Check is a line of readyz?verbose. A failed check does not change the status: a service whose
// new certificate cannot be used continues with the previous one.
type Check struct {
	Name string
	OK   func() bool
}

// A SourceFile is a file that the service reads, as GET /_/status shows the file.
type SourceFile struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size,omitempty"`
	Modified time.Time `json:"modified,omitzero"`
	Folder   bool      `json:"folder,omitzero"` // the folder has a file for each collection
	State    string    `json:"state"`           // ok, or broken if the file cannot be used
	Line     int       `json:"line,omitempty"`
	Column   int       `json:"column,omitempty"`
	Detail   string    `json:"detail,omitempty"` // the mistake

	// Collection is the collection or object whose file in a folder is broken.
	Collection string `json:"collection,omitempty"`

	Excerpt rawjson.Excerpt `json:"excerpt,omitzero"` // of the broken line
}

// A server is the state shared by all requests.
type server struct {
	Options
	db           *database.DB
	budget       budget
	responses    responseCache
	streams      live.Hubs
	sessions     sessions
	simulation   simulation
	metrics      *Metrics // Options.Metrics, or metrics that nobody sees
	requests     *requestlog.Log
	front        http.Handler
	agents       map[bool]http.Handler // of MCP, by whether the user may only read; nil: none
	service      []link                // the service's own resources, for the index
	revision     atomic.Pointer[revisionValue]
	unknown      sync.Map      // messages of logOnce, by [3]string
	unknownCount atomic.Int32  // number of messages in unknown
	drainings    chan struct{} // has a value for each request that drain is reading
	pageAlone    sync.Once     // logs how to request a page as in version 1
}

// A revisionValue is a value of Pickup-Revision. Requests share the latest value to save allocations.
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

// writeError returns why writes fail although the server is not read-only, nil if writes succeed.
func (s *server) writeError() error {
	if s.ReadOnly || s.Writable == nil {
		return nil
	}
	return s.Writable()
}
