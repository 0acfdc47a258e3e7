package server

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// closeUnauthenticated closes an HTTP/1.1 connection after the answer if a body
// is in flight and the client has not authenticated. Otherwise net/http would
// wait for the body before it sends the answer, and a slow sender would hold a
// connection that does not count as idle. authenticate undoes this for clients
// with credentials.
func closeUnauthenticated(c *gin.Context) {
	if c.Request.ContentLength != 0 && c.Request.ProtoMajor == 1 {
		c.Writer.Header()["Connection"] = closing
	}
}

// loginHint says how to log in to a server on a loopback address, or to do without.
func (s *server) loginHint(r *http.Request) string {
	if !s.Loopback {
		return ""
	}
	target := strings.ReplaceAll(urlOf(r), "'", "%27")
	const hint = " In a shell, curl -u %s '%s' asks for the password. " +
		"Start pickup with --no-auth to use it without a password on this machine."
	return fmt.Sprintf(hint, cmp.Or(s.User, "USER"), httpx.Clip(target))
}

// authenticate checks the credentials (RFC 7617) before anything else is read.
// livez and readyz need none, but readyz?verbose shows what is in the database.
// Preflights were answered before.
func (s *server) authenticate(c *gin.Context) {
	path := strings.TrimSuffix(c.FullPath(), "/")
	if path == "/_/livez" || path == "/_/readyz" && !isVerbose(c.Request) {
		return
	}
	if s.Auth == nil {
		delete(c.Writer.Header(), "Connection")
		return
	}
	values := c.Request.Header["Authorization"]
	if len(values) == 0 {
		s.fail(c, problem.NoCredentials("The service requires a user and a password (HTTP Basic)."+s.loginHint(c.Request)))
		return
	}
	switch account, pause, err := s.Auth.Check(c.Request.RemoteAddr, strings.Join(values, ", ")); { // two are malformed
	case err != nil:
		s.fail(c, problem.NoCredentials("The Authorization header must be Basic and the Base64 of user:password."))
	case pause > 0:
		// The answer does not depend on whether the credentials are right.
		seconds := strconv.Itoa(int((pause + time.Second - 1) / time.Second))
		s.fail(c, problem.New(http.StatusTooManyRequests, "Too many attempts to log in. Try again in "+seconds+" s.").With("Retry-After", seconds))
	case account == nil:
		s.fail(c, problem.NoCredentials("The user or the password is wrong."))
	default:
		delete(c.Writer.Header(), "Connection")
		if account.ReadOnly {
			c.Set(readOnlyKey, account.Name)
		}
		if httpx.WantsStream(c.Request) {
			c.Set(revokedKey, account.Revoked())
		}
	}
}

// revokedKey is the key of a channel in the context of a stream: it is closed when
// the credentials of the client are no longer accepted.
const revokedKey = "revoked"

// revoked returns that channel, nil if the server needs no credentials.
func (req *request) revoked() <-chan struct{} {
	c, _ := req.Value(revokedKey).(<-chan struct{})
	return c
}

// readOnlyKey is the key of the name of a user who may only read.
const readOnlyKey = "read-only"

// refuseWrites returns why the request may not write, nil if it may: the server is
// read-only, or the user.
func (req *request) refuseWrites() *problem.Problem {
	if req.ReadOnly {
		return problem.New(http.StatusMethodNotAllowed, "The server is read-only (--read-only).")
	}
	if user := req.GetString(readOnlyKey); user != "" {
		return problem.Newf(http.StatusForbidden, "The user %q may only read.", httpx.Clip(user))
	}
	return nil
}
