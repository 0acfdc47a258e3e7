package server

import (
	"mime"
	"strconv"
	"strings"
)

// wantsCSV reports whether the Accept header (RFC 9110 section 12.5.1) prefers
// text/csv to JSON: text/csv has the higher weight, or the same weight and JSON is
// accepted only by a wildcard. Elements that do not parse are ignored.
func (req *request) wantsCSV() bool {
	accept := strings.Join(req.Request.Header.Values("Accept"), ",")
	if !strings.Contains(strings.ToLower(accept), "csv") {
		return false
	}
	csv, json := -1.0, -1.0 // the weights
	csvNamed, jsonNamed := false, false
	applications, anything := -1.0, -1.0
	for part := range strings.SplitSeq(accept, ",") {
		media, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if s, ok := parameters["q"]; ok {
			if q, err = strconv.ParseFloat(s, 64); err != nil || q < 0 || q > 1 {
				continue
			}
		}
		switch media {
		case "text/csv":
			csv, csvNamed = max(csv, q), true
		case "application/json":
			json, jsonNamed = max(json, q), true
		case "application/*":
			applications = max(applications, q)
		case "*/*":
			anything = max(anything, q)
		}
	}
	if !csvNamed {
		return false
	}
	if !jsonNamed {
		if json = applications; json < 0 {
			json = anything
		}
	}
	return csv > 0 && (csv > json || csv == json && !jsonNamed)
}
