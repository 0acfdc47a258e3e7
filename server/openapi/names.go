package openapi

import (
	"net/http"
	"slices"
	"strings"
)

// outside are the resources of the service without a counterpart in sessions, by the name in the path.
var outside = []string{"livez", "readyz", "metrics", "requests", "sessions", "docs", "page", ""}

// IsOutside reports whether a path is outside of sessions.
func IsOutside(path string) bool {
	below, ok := strings.CutPrefix(path+"/", "/_/")
	name, _, _ := strings.Cut(below, "/")
	return ok && slices.Contains(outside, name)
}

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

// StatusText returns the reason phrase of a status in RFC 9110, section 15. Three phrases of
// net/http are older.
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

// HasPath reports whether the field of that name has a path. The path of the empty name is the
// index, and /_/ belongs to the service.
func HasPath(name string) bool {
	return name != "" && name != "_"
}
