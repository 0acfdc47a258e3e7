package server

import (
	"mime"
	"strconv"
	"strings"
)

// prefers reports whether the Accept header (RFC 9110 section 12.5.1) prefers
// a media type to JSON: it has the higher weight, or the same weight and JSON is
// accepted only by a wildcard. Elements that do not parse are ignored.
func (req *request) prefers(media string) bool {
	accept := strings.Join(req.Request.Header.Values("Accept"), ",")
	if !strings.Contains(strings.ToLower(accept), media) {
		return false
	}
	weights := make(map[string]float64) // by media range
	for part := range strings.SplitSeq(accept, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		q := 1.0
		if s, ok := parameters["q"]; ok && err == nil {
			q, err = strconv.ParseFloat(s, 64)
		}
		if err == nil && q >= 0 && q <= 1 {
			weights[name] = max(weights[name], q)
		}
	}
	other, json := weights[media], 0.0
	for _, name := range []string{"application/json", "application/*", "*/*"} { // the most specific one counts
		if q, ok := weights[name]; ok {
			json = q
			break
		}
	}
	_, named := weights["application/json"]
	return other > 0 && (other > json || other == json && !named)
}
