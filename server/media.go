package server

import (
	"mime"
	"net/http"
	"strings"

	"pickup/server/openapi"
)

// checkMedia returns an error unless the request's body is said to be JSON: by
// a type of its own, by a type that ends in +json (RFC 6839), or by none.
// A patch of the whole database is a JSON Patch.
func checkMedia(r *http.Request, whole bool) error {
	header, accept := "Accept", "application/json"
	switch {
	case r.Method == http.MethodPatch && whole:
		header, accept = "Accept-Patch", acceptDatabasePatch
	case r.Method == http.MethodPatch:
		header, accept = "Accept-Patch", acceptPatch
	case r.Method == methodQuery:
		header, accept = "Accept-Query", acceptQuery
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return unsupportedMedia("Accept-Encoding", "identity", "The body has to come without a content coding.")
	}
	value := r.Header.Get("Content-Type")
	if value == "" && whole {
		return unsupportedMedia(header, accept, "PATCH takes "+accept+" here.")
	}
	if value == "" {
		// A page can send a body without a type and without a preflight, and
		// with it the credentials that the browser remembers.
		if isCrossOrigin(r) {
			return unsupportedMedia(header, accept, "From a page of another origin the body needs Content-Type: application/json.")
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(value)
	switch {
	case err != nil:
		return unsupportedMedia(header, accept, "The Content-Type cannot be read. It should be application/json.")
	case whole && media == openapi.PatchType:
		return nil
	case whole:
		return unsupportedMedia(header, accept, "PATCH takes "+accept+" here.")
	case media == openapi.JsonType:
		return nil
	case media == "application/x-www-form-urlencoded":
		return unsupportedMedia(header, accept, "The body has to be JSON, and its Content-Type is that of a form, which curl sets with -d: use curl --json, or add -H 'Content-Type: application/json'.")
	case r.Method == http.MethodPatch && (media == openapi.MergeType || media == openapi.PatchType):
		return nil
	case r.Method == http.MethodPatch:
		return unsupportedMedia(header, accept, "PATCH takes "+acceptPatch+".")
	case media == openapi.MergeType, media == openapi.PatchType:
		return unsupportedMedia(header, accept, "A patch is sent with PATCH. "+r.Method+" takes application/json.")
	case strings.HasSuffix(media, "+json"):
		return nil
	}
	return unsupportedMedia(header, accept, "The body has to be application/json, not "+clip(media)+".")
}
