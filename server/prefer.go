package server

import (
	"strings"

	"github.com/gin-gonic/gin"
)

// The preferences of RFC 7240 that are honored, besides those of simulate.go. Others
// are ignored.
const (
	preferMinimal = "return=minimal"
	preferStrict  = "handling=strict"

	preferRollback = "tx=rollback"
	preferDefaults = "missing=default" // of a POST
)

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
			part, _, _ = strings.Cut(part, ";") // parameters
			n, v, _ := strings.Cut(part, "=")
			if strings.EqualFold(strings.TrimSpace(n), name) {
				return strings.Trim(strings.TrimSpace(v), `"`), true
			}
		}
	}
	return "", false
}
