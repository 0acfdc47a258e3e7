package openapi

import (
	"net/http"
	"strconv"
)

// The resources that describe the service, and the types of their answers.
const (
	OpenAPIPath = "/_/openapi.json"
	TypesPath   = "/_/types.d.ts"
	DocsPath    = "/_/docs"
	SchemasPath = "/_/schemas/"

	TypesType  = "text/plain; charset=utf-8"
	HtmlType   = "text/html; charset=utf-8"
	SchemaType = "application/schema+json"
)

// The two resources that are answered without credentials.
const (
	LivezPath  = "/_/livez"
	ReadyzPath = "/_/readyz"
)

const MetricsPath = "/_/metrics"

const ProblemType = "application/problem+json"

const JsonType = "application/json"

// The media types of a PATCH's body, which say what it means.
const (
	MergeType = "application/merge-patch+json" // RFC 7396
	PatchType = "application/json-patch+json"  // RFC 6902
)

// StatusText returns a status's reason phrase as RFC 9110 section 15 has it;
// net/http keeps the older names of three.
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

// HasPath reports whether a member of that name can be reached: the empty name
// is the index, and _ belongs to the service itself.
func HasPath(name string) bool { return name != "" && name != "_" }

func AppendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
