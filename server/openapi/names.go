package openapi

import "net/http"

// The paths of the resources of the service.
const (
	OpenAPIPath     = "/_/openapi.json"
	TypesPath       = "/_/types.d.ts"
	DocsPath        = "/_/docs"
	PagePath        = "/_"
	SchemasPath     = "/_/schemas/"
	SchemaPath      = "/_/schema.json"
	LivezPath       = "/_/livez"  // needs no credentials
	ReadyzPath      = "/_/readyz" // the same
	MetricsPath     = "/_/metrics"
	StatusPath      = "/_/status"
	FindingsPath    = "/_/findings"
	RequestsPath    = "/_/requests"
	ValuesPath      = "/_/values" // below it are the values of fields
	ChangesPath     = "/_/changes"
	UndoPath        = "/_/undo"
	ResetPath       = "/_/reset"
	GeneratePath    = "/_/generate"
	TransactionPath = "/_/transaction"
	SnapshotsPath   = "/_/snapshots"
	SimulatePath    = "/_/simulate"
	HoldsPath       = "/_/holds"
	ReleasePath     = "/_/release"
	SessionsPath    = "/_/sessions"
	MCPPath         = "/_/mcp"
	LLMsPath        = "/_/llms.txt"
)

// serverPaths are the paths that a session does not have.
var serverPaths = []string{LivezPath, ReadyzPath, MetricsPath, RequestsPath, RequestsPath + "/{id}", DocsPath, PagePath}

// The media types of descriptions and bodies. The media type of a PATCH selects its meaning.
const (
	TypesType  = "text/plain; charset=utf-8"
	HTMLType   = "text/html; charset=utf-8"
	SchemaType = "application/schema+json"

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

// HasPath reports whether the field of that name has a path. The path of the
// empty name is the index, and /_/ belongs to the service itself.
func HasPath(name string) bool { return name != "" && name != "_" }
