package server

import (
	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
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

const simulatedHeader = "Pickup-Simulated" // lists the simulations

// isSimulated reports whether a response was delayed, held, or made up.
func isSimulated(c *gin.Context) bool { return c.Writer.Header()[simulatedHeader] != nil }
