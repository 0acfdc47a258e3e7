package server

import (
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/server/auth"
	"pickup/server/openapi"
)

// closeUnauthenticated closes the connection after the answer where a body is on its way
// and nobody knows whose. net/http would else wait for the body before it sends
// the answer, and whoever sends it slowly would hold a connection that is not
// idle. authenticate lets go of those whose it is.
func closeUnauthenticated(c *gin.Context) {
	if c.Request.ContentLength != 0 && c.Request.ProtoMajor == 1 {
		c.Writer.Header()["Connection"] = closing
	}
}

// authenticate asks for credentials (RFC 7617) before anything else is read.
// Preflights have been answered by now; livez and readyz need
// none, but what readyz tells at length is about the contents.
func (s *server) authenticate(c *gin.Context) {
	switch path := strings.TrimSuffix(c.FullPath(), "/"); {
	case path == openapi.LivezPath, path == openapi.ReadyzPath && !verbose(c.Request):
		return
	case s.Auth == nil:
		delete(c.Writer.Header(), "Connection")
		return
	}
	values := c.Request.Header["Authorization"]
	if len(values) == 0 {
		s.fail(c, noCredentials("The service asks for a user and a password (HTTP Basic)."))
		return
	}
	user, password, ok := auth.ParseBasic(values)
	if !ok {
		s.fail(c, noCredentials("The Authorization header has to be Basic and the Base64 of user:password."))
		return
	}
	switch ok, pause := s.Auth.Check(c.Request.RemoteAddr, user, password); {
	case pause > 0:
		s.fail(c, tooManyFailures(pause))
	case !ok:
		s.fail(c, noCredentials("The user or the password is wrong."))
	default:
		delete(c.Writer.Header(), "Connection")
	}
}
