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
	weights := make(map[string]float64) // by media range
	for part := range strings.SplitSeq(accept, ",") {
		media, parameters, err := mime.ParseMediaType(part)
		q := 1.0
		if s, ok := parameters["q"]; ok && err == nil {
			q, err = strconv.ParseFloat(s, 64)
		}
		if err == nil && q >= 0 && q <= 1 {
			weights[media] = max(weights[media], q)
		}
	}
	csv, json := weights["text/csv"], 0.0
	for _, media := range []string{"application/json", "application/*", "*/*"} { // the most specific one counts
		if q, ok := weights[media]; ok {
			json = q
			break
		}
	}
	_, named := weights["application/json"]
	return csv > 0 && (csv > json || csv == json && !named)
}
