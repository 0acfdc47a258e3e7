package server

import (
	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
)

func requestIDOf(c *gin.Context) string {
	return httpx.Header(c.Writer.Header(), httpx.RequestIDHeader)
}

// describedBy is the value of Link that leads to llms.
func describedBy(sessionPath string) string {
	return "<" + sessionPath + "/_/llms.txt" + `>; rel="describedby"`
}

// problemKey is the key of a request's *problem in its context.
const problemKey = "problem"

const simulatedHeader = "Pickup-Simulated" // what was simulated

// isSimulated reports whether an answer was delayed, held, or made up.
func isSimulated(c *gin.Context) bool { return c.Writer.Header()[simulatedHeader] != nil }
