package server

import (
	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/requestlog"
)

func requestIDOf(c *gin.Context) string {
	return httpx.Header(c.Writer.Header(), httpx.RequestIDHeader)
}

// describedBy returns the value of Link that refers to llms.txt.
func describedBy(sessionPath string) string {
	return "<" + sessionPath + "/_/llms.txt" + `>; rel="describedby"`
}

// problemKey is the key of a request's *problem in its context.
const problemKey = "problem"

// secretKey is the key of true in the context of a request whose bodies may have a secret without
// its name: because a path leads to a nested value.
const secretKey = "secret"

// hideSecrets hides the bodies of the request from the log of requests, and sentences about them,
// if names may be those of a secret.
func (req *request) hideSecrets(names string) {
	if requestlog.Mentions(names) {
		req.Set(secretKey, true)
	}
}

const simulatedHeader = "Pickup-Simulated" // lists the simulations

// isSimulated reports whether a response was delayed, held, or made up.
func isSimulated(c *gin.Context) bool { return c.Writer.Header()[simulatedHeader] != nil }
