package server

import (
	"crypto/rand"

	"github.com/gin-gonic/gin"
)

const requestIDHeader = "X-Request-Id"

// requestID gives each answer an X-Request-Id: the client's own where it is
// fit to be logged, else a random one.
func requestID(c *gin.Context) {
	id := c.Request.Header.Get(requestIDHeader)
	if !validRequestID(id) {
		id = rand.Text()
	}
	c.Writer.Header()[requestIDHeader] = []string{id}
}

func requestIDOf(c *gin.Context) string { return c.Writer.Header().Get(requestIDHeader) }

// sane reports whether id is 1 to 128 characters of which none can break a
// line, a quotation or a table.
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
