package server

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
)

const jsonType = "application/json"

// headers sets what every answer has.
func headers(c *gin.Context) {
	c.Header("X-Content-Type-Options", "nosniff")
}

// send writes a whole answer. net/http leaves the body out for HEAD.
func send(c *gin.Context, status int, contentType string, body []byte) {
	h := c.Writer.Header()
	h["Content-Type"] = []string{contentType}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.Status(status)
	// An error means that the client has gone; there is nobody to tell.
	_, _ = c.Writer.Write(body)
}

// show answers a GET. A cache may keep the answer, for this client alone, and
// asks before it uses it again.
func (k *call) show(body []byte) error {
	h := k.Writer.Header()
	h["Cache-Control"] = []string{"private, no-cache"}
	h["Vary"] = []string{"Authorization, Origin, Accept"}
	send(k.Context, http.StatusOK, jsonType, append(body, '\n'))
	return nil
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
