package server

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// Header values that answers share, to save allocations. They must not be modified.
// (http.Header.Add is safe: it copies a slice that is full.)
var (
	noSniff      = []string{"nosniff"}
	sameOrigin   = []string{"same-origin"}
	jsonTypes    = []string{openapi.JSONType}
	cacheControl = []string{"private, no-cache"}
	vary         = []string{"Authorization, Origin, Accept, Accept-Encoding, Pickup-Session"}
	varyByPage   = []string{vary[0] + ", " + pageHeader}
	varyOrigin   = []string{"Origin, Accept-Encoding"}
	closing      = []string{"close"}
)

// send sends a whole answer, compressed if the client accepts that.
func (s *server) send(c *gin.Context, status int, contentType string, body []byte) {
	s.sendAs(c, status, contentType, "", body)
}

// sendAs is send with the entity tag of exactly these bytes, or "": then what it
// compresses is cached.
func (s *server) sendAs(c *gin.Context, status int, contentType, tag string, body []byte) {
	h := c.Writer.Header()
	h["Content-Type"] = jsonTypes
	if contentType != openapi.JSONType {
		h["Content-Type"] = []string{contentType}
	}
	if s.NoCompression || h["Content-Encoding"] != nil || !httpx.WantsGzip(c.Request, len(body)) {
		write(c, status, body)
		return
	}
	h.Set("Content-Encoding", "gzip")
	//lint:ignore SA1008 setTag spells it as RFC 9110 does
	if sent := h["ETag"]; sent != nil {
		h["ETag"] = []string{httpx.GzipTag(sent[0])}
	}
	if w, ok := c.Writer.(*recordingWriter); ok {
		w.keep(body)
	}
	if tag != "" {
		tag = httpx.GzipTag(tag)
		if cached := s.responses.get(tag); cached != nil {
			write(c, status, cached)
			return
		}
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	var out []byte
	s.withBuildSlot(func() { out = httpx.AppendGzip((*buffer)[:0], body) })
	if cap(out) <= maxPooled {
		*buffer = out
	}
	if tag != "" {
		s.responses.offer(tag, out)
	}
	write(c, status, out)
}

// countedBody is the size up to which net/http buffers a body and counts it itself.
const countedBody = 2 << 10

// write writes a whole answer. net/http omits the body for HEAD.
func write(c *gin.Context, status int, body []byte) {
	// Without Content-Length most answers have eight headers, for which the map need not grow.
	if status != http.StatusOK || len(body) > countedBody || c.Request.Method != http.MethodGet {
		c.Writer.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	c.Status(status)
	// An error means that the client is gone.
	_, _ = c.Writer.Write(body)
}

// sendTagged sends what body appends, or 304 if the client has it. If tag is "",
// the tag is the hash of the body.
func (req *request) sendTagged(media, tag string, body func(b []byte) ([]byte, error)) error {
	if done, err := req.sendKnown(media, tag); done {
		return err
	}
	return req.sendNew(media, tag, body)
}

// sendValue sends a value as JSON, or 304 if the client has it.
func (req *request) sendValue(v any) error {
	return req.sendTagged(openapi.JSONType, "", func(b []byte) ([]byte, error) {
		return append(b, bytes.TrimSuffix(httpx.Marshal(v), []byte("\n"))...), nil
	})
}

// sendNow sends a value as JSON that no cache may keep.
func (req *request) sendNow(status int, v any) error {
	req.Header("Cache-Control", "no-store")
	req.send(req.Context, status, openapi.JSONType, httpx.Marshal(v))
	return nil
}

// sendNothing answers that a request was done.
func (req *request) sendNothing() error {
	req.Status(http.StatusNoContent)
	return nil
}

// sendKnown sends 304 or the cached body, if the client or the cache has what the
// tag identifies, and returns an error if If-Match does not hold. It reports whether
// the request is done.
func (req *request) sendKnown(media, tag string) (done bool, err error) {
	tag = req.form.Tag(tag)
	if tag == "" {
		return false, nil
	}
	if err := req.checkRead(tag); err != nil {
		return true, err
	}
	if req.sendNotModified(tag) {
		return true, nil
	}
	if req.keepBody {
		if cached := req.responses.get(tag); cached != nil {
			return true, req.sendBody(media, tag, cached)
		}
	}
	return false, nil
}

// sendNew is sendTagged after sendKnown.
func (req *request) sendNew(media, tag string, body func(b []byte) ([]byte, error)) (err error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	var b []byte
	if req.quick {
		b, err = body((*buffer)[:0])
	} else {
		req.withBuildSlot(func() { b, err = body((*buffer)[:0]) })
	}
	if err != nil {
		return err
	}
	unknown := tag == ""
	if unknown {
		tag = httpx.Tag(b)
	}
	tag = req.form.Tag(tag)
	if unknown {
		if err := req.checkRead(tag); err != nil {
			return err
		}
		if req.sendNotModified(tag) {
			return nil
		}
	}
	if media == openapi.JSONType {
		b = append(req.form.Wrap(b, req.total), '\n')
	}
	if cap(b) <= maxPooled {
		*buffer = b
	}
	if req.keepBody {
		req.responses.offer(tag, b)
	}
	return req.sendBody(media, tag, b)
}

// sendBody sends a body with its tag. It stays in memory while a slow client reads
// it, even if the cache drops it.
func (req *request) sendBody(media, tag string, b []byte) error {
	if !req.reserve(int64(len(b))) {
		return problem.NoMemory()
	}
	req.setCacheHeaders(tag)
	req.sendAs(req.Context, http.StatusOK, media, tag, b)
	return nil
}

// sendNotModified sends 304 (Not Modified) if the client already has what the tag
// identifies. It reports whether it does.
func (req *request) sendNotModified(tag string) bool {
	known := httpx.MatchTag(req.Request.Header["If-None-Match"], tag, true)
	if known == "" {
		return false
	}
	req.setCacheHeaders(known)
	req.Status(http.StatusNotModified)
	return true
}

// setCacheHeaders lets the client's own cache keep the answer, and makes it
// revalidate the answer before each use.
func (req *request) setCacheHeaders(tag string) {
	h := req.Writer.Header()
	if !isSimulated(req.Context) {
		h["Cache-Control"] = cacheControl
	}
	h["Vary"] = vary
	if req.Answers != nil {
		h["Vary"] = varyByPage
	}
	req.setTag(tag)
}

// withBuildSlot runs do, which only computes, when one of a few slots is free. More
// at once would need more memory and not be faster.
func (s *server) withBuildSlot(do func()) {
	s.budget.builders <- struct{}{}
	defer func() { <-s.budget.builders }()
	do()
}

// control returns the controller of the connection. Gin's own Flush loses the error.
func (req *request) control() *http.ResponseController {
	return http.NewResponseController(unwrapped(req.Writer))
}
