package server

import (
	"crypto/rand"

	"github.com/gin-gonic/gin"
)

const requestIDHeader = "X-Request-Id"

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
	for i := range len(id) {
		switch b := id[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case b == '-', b == '_', b == '.', b == ':', b == '/', b == '+', b == '=':
		default:
			return false
		}
	}
	return 0 < len(id) && len(id) <= 128
}
