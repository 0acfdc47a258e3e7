package server

import (
	"mime"
	"net/http"
	"strings"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// checkMedia returns an error unless the Content-Type of the request is JSON, a
// type that ends in +json (RFC 6839), or missing. A patch of the whole database
// must be a JSON Patch.
func checkMedia(r *http.Request, whole bool) error {
	header, accept := "Accept", "application/json"
	switch {
	case whole:
		header, accept = "Accept-Patch", acceptDatabasePatch
	case r.Method == http.MethodPatch:
		header, accept = "Accept-Patch", acceptPatch
	case r.Method == methodQuery:
		header, accept = "Accept-Query", acceptQuery
	}
	refuse := func(detail string) error { return problem.UnsupportedMedia(header, accept, detail) }
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return problem.UnsupportedMedia("Accept-Encoding", "identity", "Content-Encoding is not supported: send the body without it.")
	}
	value := r.Header.Get("Content-Type")
	if value == "" && !whole {
		// A page can send a body without a type without a preflight, and the
		// browser adds the credentials that it remembers.
		if isCrossOrigin(r) {
			return refuse("A request from a page of another origin needs Content-Type: application/json.")
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(value)
	patch := media == openapi.MergeType || media == openapi.PatchType
	switch {
	case err != nil && value != "":
		return refuse("The Content-Type does not parse. It should be application/json.")
	case whole && media == openapi.PatchType:
		return nil
	case whole:
		return refuse("PATCH accepts " + accept + " here.")
	case media == openapi.JSONType, r.Method == http.MethodPatch && patch:
		return nil
	case media == "application/x-www-form-urlencoded":
		return refuse("The body must be JSON, but its Content-Type is that of a form, as curl -d sends it. Use curl --json, or add -H 'Content-Type: application/json'.")
	case r.Method == http.MethodPatch:
		return refuse("PATCH accepts " + acceptPatch + ".")
	case patch:
		return refuse("A patch is sent with PATCH. " + r.Method + " accepts application/json.")
	case strings.HasSuffix(media, "+json"):
		return nil
	}
	return refuse("The body must be application/json, not " + httpx.Clip(media) + ".")
}
