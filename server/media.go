package server

import (
	"mime"
	"net/http"
	"strings"
)

// The media types that PATCH takes.
const acceptPatch = "application/json"

// checkMedia returns an error unless the request's body is said to be JSON: by
// a type of its own, by a type that ends in +json (RFC 6839), or by none.
func checkMedia(r *http.Request) error {
	header, accept := "Accept", "application/json"
	if r.Method == http.MethodPatch {
		header, accept = "Accept-Patch", acceptPatch
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return unsupportedMedia("Accept-Encoding", "identity", "The body has to come without a content coding.")
	}
	value := r.Header.Get("Content-Type")
	if value == "" {
		// A page can send a body without a type and without a preflight, and
		// with it the credentials that the browser remembers.
		if foreign(r) {
			return unsupportedMedia(header, accept, "From a page of another origin the body needs Content-Type: application/json.")
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(value)
	switch {
	case err != nil:
		return unsupportedMedia(header, accept, "The Content-Type cannot be read. It should be application/json.")
	case media == "application/json":
		return nil
	case media == "application/x-www-form-urlencoded":
		return unsupportedMedia(header, accept, "The body has to be JSON, and its Content-Type is that of a form, which curl sets with -d: use curl --json, or add -H 'Content-Type: application/json'.")
	case r.Method == http.MethodPatch:
		return unsupportedMedia(header, accept, "PATCH takes "+acceptPatch+".")
	case media == "application/merge-patch+json", media == "application/json-patch+json":
		return unsupportedMedia(header, accept, "A patch is sent with PATCH. "+r.Method+" takes application/json.")
	case strings.HasSuffix(media, "+json"):
		return nil
	}
	return unsupportedMedia(header, accept, "The body has to be application/json, not "+clip(media)+".")
}
