package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/internal/spell"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// Preferences (RFC 7240), besides the preferences for simulations. The server ignores others.
const (
	preferMinimal = "return=minimal"
	preferStrict  = "handling=strict"

	preferRollback = "tx=rollback"
	preferDefaults = "missing=default" // of a POST
)

// preferences maps the known preferences to the allowed values. simulate.go checks the values of
// preferences for simulations.
var preferences = map[string][]string{
	"handling": {"lenient", "strict"},
	"missing":  {"default", "null"},
	"return":   {"minimal", "representation"},
	"tx":       {"commit", "rollback"},

	"wait":  nil, // see freshness.go
	"delay": nil, "code": nil, "fault": nil, "hold": nil,
}

// checkPreferences refuses unknown preferences if the request has handling=strict.
func (s *server) checkPreferences(c *gin.Context) {
	if !hasPreference(c, preferStrict) {
		return
	}
	for _, value := range c.Request.Header["Prefer"] {
		for part := range strings.SplitSeq(value, ",") {
			name, value := splitPreference(part)
			values, known := preferences[strings.ToLower(name)]
			detail := ""
			switch {
			case name == "":
			case !known:
				hint := spell.DidYouMean(name, "the preferences", slices.Sorted(maps.Keys(preferences)))
				detail = fmt.Sprintf("there is no preference %q%s", httpx.Clip(name), hint)
			case values != nil && !slices.Contains(values, strings.ToLower(value)):
				hint := spell.DidYouMean(value, "the values", values)
				detail = fmt.Sprintf("%s has no value %q%s", strings.ToLower(name), httpx.Clip(value), hint)
			}
			if detail != "" {
				s.fail(c, problem.BadRequest(httpx.Sentence("Prefer: "+detail)))
				return
			}
		}
	}
}

// prefer reports whether the request has the preference. If so, it adds Preference-Applied to the
// response.
func (req *request) prefer(preference string) bool {
	if !hasPreference(req.Context, preference) {
		return false
	}
	req.Writer.Header().Add("Preference-Applied", preference)
	return true
}

// hasPreference reports whether the request has the preference.
func hasPreference(c *gin.Context, preference string) bool {
	name, _, _ := strings.Cut(preference, "=")
	value, ok := preferenceOf(c, name)
	return ok && name+"="+strings.ToLower(value) == preference
}

// preferenceOf returns the value of the preference called name. If the request has several, the
// first counts.
func preferenceOf(c *gin.Context, name string) (value string, ok bool) {
	for _, value := range c.Request.Header["Prefer"] {
		for part := range strings.SplitSeq(value, ",") {
			if n, v := splitPreference(part); strings.EqualFold(n, name) {
				return v, true
			}
		}
	}
	return "", false
}

// splitPreference returns the name and the value of a preference without parameters.
func splitPreference(part string) (name, value string) {
	part, _, _ = strings.Cut(part, ";")
	name, value, _ = strings.Cut(part, "=")
	return strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"`)
}
