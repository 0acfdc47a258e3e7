package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/internal/spell"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// The honored preferences of RFC 7240, besides those for simulations. Others are ignored.
const (
	preferMinimal = "return=minimal"
	preferStrict  = "handling=strict"

	preferRollback = "tx=rollback"
	preferDefaults = "missing=default" // of a POST
)

// preferences are all that the server knows, with their values. simulate.go judges those
// for simulations.
var preferences = map[string][]string{
	"handling": {"lenient", "strict"},
	"missing":  {"default", "null"},
	"return":   {"minimal", "representation"},
	"tx":       {"commit", "rollback"},

	"wait":  nil, // see freshness.go
	"delay": nil, "code": nil, "fault": nil, "hold": nil,
}

// checkPreferences refuses a preference that the server does not know, if the request
// has handling=strict.
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
				detail = fmt.Sprintf("there is no preference %q%s", httpx.Clip(name), spell.DidYouMean(name, "the preferences", slices.Sorted(maps.Keys(preferences))))
			case values != nil && !slices.Contains(values, strings.ToLower(value)):
				detail = fmt.Sprintf("%s has no value %q%s", strings.ToLower(name), httpx.Clip(value), spell.DidYouMean(value, "the values", values))
			}
			if detail != "" {
				s.fail(c, problem.New(http.StatusBadRequest, httpx.Sentence("Prefer: "+detail)))
				return
			}
		}
	}
}

// prefer reports whether the request has the preference; if so it adds
// Preference-Applied to the answer.
func prefer(c *gin.Context, preference string) bool {
	if !hasPreference(c, preference) {
		return false
	}
	c.Writer.Header().Add("Preference-Applied", preference)
	return true
}

// hasPreference reports whether the request has the preference.
func hasPreference(c *gin.Context, preference string) bool {
	name, _, _ := strings.Cut(preference, "=")
	value, ok := preferenceOf(c, name)
	return ok && name+"="+strings.ToLower(value) == preference
}

// preferenceOf returns the value of the preference called name. The first of
// contradicting preferences counts.
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
