package server

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"
)

const jsonType = "application/json"

// Values of headers that many answers have: they share them, so nobody writes
// into them. (Add copies what is full.)
var (
	noSniff      = []string{"nosniff"}
	jsonTypes    = []string{jsonType}
	cacheControl = []string{"private, no-cache"}
	vary         = []string{"Authorization, Origin, Accept"}
	varyOrigin   = []string{"Origin"}
)

// headers sets what every answer has.
func headers(c *gin.Context) {
	c.Writer.Header()["X-Content-Type-Options"] = noSniff
}

// send writes a whole answer. net/http leaves the body out for HEAD.
func send(c *gin.Context, status int, contentType string, body []byte) {
	h := c.Writer.Header()
	if h["Content-Type"] = jsonTypes; contentType != jsonType {
		h["Content-Type"] = []string{contentType}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.Status(status)
	// An error means that the client has gone; there is nobody to tell.
	_, _ = c.Writer.Write(body)
}

// buffers holds *[]byte for bodies, so that a list does not grow one each time.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 4 << 20 // bytes; a greater buffer is left to the collector

// show answers a GET with what body appends. Without a tag the body's own hash
// is one.
func (k *call) show(media, tag string, body func(b []byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	b, err := body((*buffer)[:0])
	if err != nil {
		return err
	}
	if tag == "" {
		tag = tagOf(b)
	}
	if k.unchanged(tag) {
		err = k.notModified(tag)
	} else {
		if media == jsonType {
			b = append(b, '\n')
		}
		if k.keep {
			k.answers.offer(tag, b)
		}
		k.cacheable(tag)
		send(k.Context, http.StatusOK, media, b)
	}
	if cap(b) <= maxPooled {
		*buffer = b
		buffers.Put(buffer)
	}
	return err
}

// cacheable says that a cache may keep the answer, for this client alone, and
// asks before it uses it again.
func (k *call) cacheable(tag string) {
	h := k.Writer.Header()
	h["Cache-Control"] = cacheControl
	h["Vary"] = vary
	k.setTag(tag)
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
