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

// closeUnauthenticated closes an HTTP/1.1 connection after the response if a body is in flight and
// the client has not authenticated. Otherwise net/http would wait for the body before sending the
// response, and a slow client would hold a connection that does not count as idle. authenticate
// undoes this for clients with credentials.
func closeUnauthenticated(c *gin.Context) {
	if c.Request.ContentLength != 0 && c.Request.ProtoMajor == 1 {
		c.Writer.Header()["Connection"] = closing
	}
}

// loginHint explains how to log in to a server on a loopback address, or how to turn passwords off.
func (s *server) loginHint(r *http.Request) string {
	if !s.Loopback {
		return ""
	}
	target := strings.ReplaceAll(urlOf(r), "'", "%27")
	const hint = " In a shell, curl -u %s '%s' asks for the password. " +
		"Start pickup with --no-auth to use it without a password on this machine."
	return fmt.Sprintf(hint, cmp.Or(s.User, "USER"), httpx.Clip(target))
}

// authenticate checks the credentials (RFC 7617) before anything else of the request is read. livez
// and readyz need no credentials, but readyz?verbose shows data. crossOrigin has already handled
// preflights.
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
		detail := "The service requires a user and a password (HTTP Basic)." + s.loginHint(c.Request)
		s.fail(c, problem.NoCredentials(detail))
		return
	}
	// Joined, two values are malformed.
	account, pause, err := s.Auth.Check(c.Request.RemoteAddr, strings.Join(values, ", "))
	switch {
	case err != nil:
		s.fail(c, problem.NoCredentials("The Authorization header must be Basic and the Base64 of user:password."))
	case pause > 0:
		// The response must not reveal whether the credentials are right.
		seconds := strconv.Itoa(int((pause + time.Second - 1) / time.Second))
		p := problem.New(http.StatusTooManyRequests, "Too many attempts to log in. Try again in "+seconds+" s.")
		s.fail(c, p.With("Retry-After", seconds))
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

// revokedKey is the key of a channel in the context of a stream. The channel is closed when the
// credentials of the client are revoked.
const revokedKey = "revoked"

// revoked returns the channel, nil if the server needs no credentials.
func (req *request) revoked() <-chan struct{} {
	c, _ := req.Value(revokedKey).(<-chan struct{})
	return c
}

// readOnlyKey is the key of the name of a read-only user.
const readOnlyKey = "read-only"

// refuseWrites returns the problem for a write if the server or the user is read-only, otherwise nil.
func (req *request) refuseWrites() *problem.Problem {
	if req.ReadOnly {
		return problem.New(http.StatusMethodNotAllowed, "The server is read-only (--read-only).")
	}
	if user := req.GetString(readOnlyKey); user != "" {
		return problem.Newf(http.StatusForbidden, "The user %q may only read.", httpx.Clip(user))
	}
	return nil
}
