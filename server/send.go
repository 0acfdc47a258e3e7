package server

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"

	"pickup/server/openapi"
)

// Header values that answers share, to save allocations. They must not be modified.
// (http.Header.Add is safe: it copies a slice that is full.)
var (
	noSniff      = []string{"nosniff"}
	sameOrigin   = []string{"same-origin"}
	jsonTypes    = []string{openapi.JSONType}
	cacheControl = []string{"private, no-cache"}
	vary         = []string{"Authorization, Origin, Accept, Pickup-Session"}
	varyOrigin   = []string{"Origin"}
	closing      = []string{"close"}
)

// setHeaders sets the headers of every answer.
func setHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h["X-Content-Type-Options"] = noSniff
	// Pages of other origins cannot embed the answer. CORS is not affected.
	h["Cross-Origin-Resource-Policy"] = sameOrigin
}

// send sends a whole answer. net/http omits the body for HEAD.
func send(c *gin.Context, status int, contentType string, body []byte) {
	h := c.Writer.Header()
	if h["Content-Type"] = jsonTypes; contentType != openapi.JSONType {
		h["Content-Type"] = []string{contentType}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.Status(status)
	// An error means that the client is gone.
	_, _ = c.Writer.Write(body)
}

// buffers holds *[]byte for bodies, so that they need not grow for each list.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 4 << 20 // bytes; a larger buffer is not reused

// sendTagged sends what body appends, or 304 if the client has it. If tag is "",
// the tag is the hash of the body.
func (req *request) sendTagged(media, tag string, body func(b []byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	var b []byte
	var err error
	req.withBuildSlot(func() { b, err = body((*buffer)[:0]) })
	if err != nil {
		return err
	}
	// The body stays in memory while a slow client reads it.
	if !req.reserve(int64(len(b))) {
		return noMemory()
	}
	if tag == "" {
		tag = tagOf(b)
	}
	if req.isNotModified(tag) {
		err = req.sendNotModified(tag)
	} else {
		if media == openapi.JSONType {
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

// setCacheHeaders lets the client's own cache keep the answer, and makes it
// revalidate the answer before each use.
func (req *request) setCacheHeaders(tag string) {
	h := req.Writer.Header()
	h["Cache-Control"] = cacheControl
	h["Vary"] = vary
	req.setTag(tag)
}

// withBuildSlot runs do, which only computes, when one of a few slots is free. More
// at once would need more memory and not be faster.
func (req *request) withBuildSlot(do func()) {
	req.budget.builders <- struct{}{}
	defer func() { <-req.budget.builders }()
	do()
}
