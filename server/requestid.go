package server

import (
	"crypto/rand"
	"strings"

	"github.com/gin-gonic/gin"
)

const (
	requestIDHeader = "X-Request-Id"
	requestIDChars  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.:/+="
)

// requestID sets X-Request-Id: that of the request if it is valid, else a random
// one.
func requestID(c *gin.Context) {
	id := c.Request.Header.Get(requestIDHeader)
	if !validRequestID(id) {
		id = rand.Text()
	}
	c.Writer.Header()[requestIDHeader] = []string{id}
}

func requestIDOf(c *gin.Context) string { return c.Writer.Header().Get(requestIDHeader) }

// validRequestID reports whether id has 1 to 128 characters that are safe in logs.
func validRequestID(id string) bool {
	return 0 < len(id) && len(id) <= 128 && strings.Trim(id, requestIDChars) == ""
}
