package server

import (
	"strings"

	"github.com/gin-gonic/gin"
)

// Preferences of RFC 7240 that are honoured; the others are ignored, as it
// wants.
const (
	preferMinimal = "return=minimal"
	preferStrict  = "handling=strict"
)

// prefers reports whether the client prefers something, and says in the answer
// that it was honoured. Of preferences that contradict each other the first
// counts.
func prefer(c *gin.Context, preference string) bool {
	name, _, _ := strings.Cut(preference, "=")
	for _, value := range c.Request.Header.Values("Prefer") {
		for part := range strings.SplitSeq(value, ",") {
			part, _, _ = strings.Cut(part, ";") // parameters
			n, v, _ := strings.Cut(part, "=")
			if !strings.EqualFold(strings.TrimSpace(n), name) {
				continue
			}
			if name+"="+strings.ToLower(strings.Trim(strings.TrimSpace(v), `"`)) != preference {
				return false
			}
			c.Writer.Header().Add("Preference-Applied", preference)
			return true
		}
	}
	return false
}
