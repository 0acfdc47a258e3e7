package server

import (
	"mime"
	"strconv"
	"strings"
)

// prefers reports whether the Accept header (RFC 9110 section 12.5.1) prefers
// a media type to JSON: by its weight or, if the weights are equal, by naming it
// and JSON only through a wildcard. Parts that cannot be parsed are ignored.
func (req *request) prefers(media string) bool {
	accept := strings.Join(req.Request.Header.Values("Accept"), ",")
	if !strings.Contains(strings.ToLower(accept), media) {
		return false
	}
	other, json := -1.0, -1.0 // the weights
	jsonNamed := false
	applications, anything := -1.0, -1.0
	for part := range strings.SplitSeq(accept, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if s, ok := parameters["q"]; ok {
			if q, err = strconv.ParseFloat(s, 64); err != nil || q < 0 || q > 1 {
				continue
			}
		}
		switch name {
		case media:
			other = max(other, q)
		case "application/json":
			json, jsonNamed = max(json, q), true
		case "application/*":
			applications = max(applications, q)
		case "*/*":
			anything = max(anything, q)
		}
	}
	if !jsonNamed {
		if json = applications; json < 0 {
			json = anything
		}
	}
	return other > 0 && (other > json || other == json && !jsonNamed)
}
