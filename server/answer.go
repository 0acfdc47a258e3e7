package server

import (
	"net/http"
	"strconv"
	"sync"

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

// buffers holds *[]byte for bodies, so that a list does not grow one each time.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 4 << 20 // bytes; a greater buffer is left to the collector

// show answers a GET with what body appends. A cache may keep the answer, for
// this client alone, and asks before it uses it again.
func (k *call) show(body func(b []byte) []byte) error {
	h := k.Writer.Header()
	h["Cache-Control"] = []string{"private, no-cache"}
	h["Vary"] = []string{"Authorization, Origin, Accept"}
	buffer := buffers.Get().(*[]byte)
	b := append(body((*buffer)[:0]), '\n')
	send(k.Context, http.StatusOK, jsonType, b)
	if cap(b) <= maxPooled {
		*buffer = b
		buffers.Put(buffer)
	}
	return nil
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
