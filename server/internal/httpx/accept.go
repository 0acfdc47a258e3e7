package httpx

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// Prefers reports whether the Accept header (RFC 9110 section 12.5.1) prefers a media type to
// JSON: the type has a higher weight, or the same weight while only a wildcard accepts JSON.
func Prefers(r *http.Request, media string) bool {
	accept := strings.Join(r.Header["Accept"], ",")
	if !strings.Contains(strings.ToLower(accept), media) {
		return false
	}
	accepted := parseWeights(accept)
	other, json := accepted[media], 0.0
	for _, name := range []string{"application/json", "application/*", "*/*"} { // the most specific name counts
		if q, ok := accepted[name]; ok {
			json = q
			break
		}
	}
	_, named := accepted["application/json"]
	return other > 0 && (other > json || other == json && !named)
}

// StreamType is the media type of server-sent events.
const StreamType = "text/event-stream"

// WantsStream reports whether a request asks for a stream of events.
func WantsStream(r *http.Request) bool { return IsRead(r) && Prefers(r, StreamType) }

// parseWeights returns the weights of the elements of a header like Accept. It ignores
// malformed elements.
func parseWeights(header string) map[string]float64 {
	w := make(map[string]float64)
	for part := range strings.SplitSeq(header, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		q := 1.0
		if s, ok := parameters["q"]; ok && err == nil {
			q, err = strconv.ParseFloat(s, 64)
		}
		if err == nil && q >= 0 && q <= 1 {
			w[name] = max(w[name], q)
		}
	}
	return w
}
