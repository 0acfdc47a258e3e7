package openapi

import "net/http"

// The paths of the resources that describe the service, and their media types.
const (
	OpenAPIPath = "/_/openapi.json"
	TypesPath   = "/_/types.d.ts"
	DocsPath    = "/_/docs"
	PagePath    = "/_"
	SchemasPath = "/_/schemas/"
	SchemaPath  = "/_/schema.json"

	TypesType  = "text/plain; charset=utf-8"
	HTMLType   = "text/html; charset=utf-8"
	SchemaType = "application/schema+json"
)

// The paths of the resources for operators. The first two need no credentials.
const (
	LivezPath   = "/_/livez"
	ReadyzPath  = "/_/readyz"
	MetricsPath = "/_/metrics"
)

// The paths of what a user interface has to know, of what is wrong, and of the
// latest requests.
const (
	StatusPath   = "/_/status"
	FindingsPath = "/_/findings"
	RequestsPath = "/_/requests"
)

// ValuesPath is the path below which the values of members are.
const ValuesPath = "/_/values"

// The paths of the history and of earlier states.
const (
	ChangesPath   = "/_/changes"
	UndoPath      = "/_/undo"
	ResetPath     = "/_/reset"
	SnapshotsPath = "/_/snapshots"
)

// The paths of the rules for simulated answers and of the requests that are held.
const (
	SimulatePath = "/_/simulate"
	HoldsPath    = "/_/holds"
	ReleasePath  = "/_/release"
)

// SessionsPath is the path of the sessions.
const SessionsPath = "/_/sessions"

// serverPaths are the other paths that a session does not have.
var serverPaths = []string{LivezPath, ReadyzPath, MetricsPath, FindingsPath, FindingsPath + "/{id}", RequestsPath, RequestsPath + "/{id}", TypesPath, DocsPath, PagePath}

// The media types of bodies. That of a PATCH selects its meaning.
const (
	JSONType    = "application/json"
	ProblemType = "application/problem+json"     // RFC 9457
	MergeType   = "application/merge-patch+json" // RFC 7396
	PatchType   = "application/json-patch+json"  // RFC 6902
)

// StatusText returns the reason phrase of a status as RFC 9110, section 15, has
// it; net/http keeps three older ones.
func StatusText(status int) string {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return "Content Too Large"
	case http.StatusRequestURITooLong:
		return "URI Too Long"
	case http.StatusUnprocessableEntity:
		return "Unprocessable Content"
	}
	return http.StatusText(status)
}

// HasPath reports whether the member of that name has a path. The path of the
// empty name is the index, and /_/ belongs to the service itself.
func HasPath(name string) bool { return name != "" && name != "_" }
