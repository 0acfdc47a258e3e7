package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
	"unicode"

	"github.com/gin-gonic/gin"
)

// Single returns an Options.Auth for one user. The comparison takes the same
// time whatever is wrong.
func Single(user, password string) func(user, password string) bool {
	wantUser, wantPassword := sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))
	return func(user, password string) bool {
		// Digests have one length, so that not even the length can be timed.
		u, p := sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))
		return subtle.ConstantTimeCompare(u[:], wantUser[:])&subtle.ConstantTimeCompare(p[:], wantPassword[:]) == 1
	}
}

// authenticate asks for credentials (RFC 7617) before anything else is read.
// Preflights have been answered by now; livez and readyz need
// none, but what readyz tells at length is about the contents.
func (s *server) authenticate(c *gin.Context) {
	switch path := strings.TrimSuffix(c.Request.URL.EscapedPath(), "/"); {
	case s.Auth == nil, path == livezPath, path == readyzPath && !verbose(c.Request):
		return
	}
	values := c.Request.Header["Authorization"]
	if len(values) == 0 {
		s.fail(c, noCredentials("The service asks for a user and a password (HTTP Basic)."))
		return
	}
	user, password, ok := basic(values)
	if !ok {
		s.fail(c, noCredentials("The Authorization header has to be Basic and the Base64 of user:password."))
		return
	}
	if !s.Auth(user, password) {
		s.fail(c, noCredentials("The user or the password is wrong."))
	}
}

// basic reads credentials as RFC 7617 section 2 has them: the scheme in any
// case, one or more spaces, the user up to the first colon, and no control
// characters.
func basic(values []string) (user, password string, ok bool) {
	if len(values) != 1 {
		return "", "", false
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	text, err := base64.StdEncoding.DecodeString(strings.Trim(rest, " "))
	if err != nil || strings.ContainsFunc(string(text), unicode.IsControl) {
		return "", "", false
	}
	return strings.Cut(string(text), ":")
}
