package server

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"

	"pickup/server/openapi"
)

// Values of headers that many answers have: they share them, so nobody writes
// into them. (Add copies what is full.)
var (
	noSniff      = []string{"nosniff"}
	sameOrigin   = []string{"same-origin"}
	jsonTypes    = []string{openapi.JsonType}
	cacheControl = []string{"private, no-cache"}
	vary         = []string{"Authorization, Origin, Accept"}
	varyOrigin   = []string{"Origin"}
	closing      = []string{"close"}
)

// headers sets what every answer has.
func headers(c *gin.Context) {
	h := c.Writer.Header()
	h["X-Content-Type-Options"] = noSniff
	// What is no page of ours is shown in none and loaded by none: a page that
	// is allowed fetches it with CORS, which this does not concern.
	h["Cross-Origin-Resource-Policy"] = sameOrigin
}

// send writes a whole answer. net/http leaves the body out for HEAD.
func send(c *gin.Context, status int, contentType string, body []byte) {
	h := c.Writer.Header()
	if h["Content-Type"] = jsonTypes; contentType != openapi.JsonType {
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
func (req *request) sendTagged(media, tag string, body func(b []byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	b, err := req.build((*buffer)[:0], body)
	if err != nil {
		return err
	}
	// Sending waits for the client: those that take their time share a budget.
	if !req.reserve(int64(len(b))) {
		return noMemory()
	}
	if tag == "" {
		tag = tagOf(b)
	}
	if req.isNotModified(tag) {
		err = req.sendNotModified(tag)
	} else {
		if media == openapi.JsonType {
			b = append(b, '\n')
		}
		if req.keepBody {
			req.responses.offer(tag, b)
		}
		req.setCacheHeaders(tag)
		send(req.Context, http.StatusOK, media, b)
	}
	if cap(b) <= maxPooled {
		*buffer = b
		buffers.Put(buffer)
	}
	return err
}

// cacheable says that a cache may keep the answer, for this client alone, and
// asks before it uses it again.
func (req *request) setCacheHeaders(tag string) {
	h := req.Writer.Header()
	h["Cache-Control"] = cacheControl
	h["Vary"] = vary
	req.setTag(tag)
}

// build appends a body to b.
func (req *request) build(b []byte, body func(b []byte) ([]byte, error)) (built []byte, err error) {
	req.withBuildSlot(func() { built, err = body(b) })
	return built, err
}

// withBuildSlot runs what keeps a processor busy and waits for nothing: more of it at
// a time would need memory and save no time.
func (req *request) withBuildSlot(do func()) {
	req.budget.builders <- struct{}{}
	defer func() { <-req.budget.builders }()
	do()
}
