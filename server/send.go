package server

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// Header values that responses share, to save allocations. Nobody may modify the values.
// (http.Header.Add is safe: it copies a full slice.)
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

// A response is the response to a read. Its entity tag lets clients, and the server, cache the
// response.
type response struct {
	media string // "": JSON
	tag   string // identifies the body without envelope; "": the hash of the body
	cache bool   // the server may cache the body: the tag identifies all of the response
	quick bool   // building the body needs no slot
}

// respond sends a response, or 304 (Not Modified) if the client has the response. build appends
// the body, without envelope. (As a field of response, build would escape to the heap.)
func (req *request) respond(r response, build func(b []byte) ([]byte, error)) error {
	r.media = cmp.Or(r.media, openapi.JSONType)
	tag := req.form.Tag(r.tag)
	if tag != "" {
		done, err := req.checkTag(tag)
		if done {
			return err
		}
	}
	var body []byte
	if r.cache {
		body = req.responses.get(tag)
	}
	if body == nil {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		var err error
		if r.quick {
			body, err = build((*buffer)[:0])
		} else {
			req.withBuildSlot(func() { body, err = build((*buffer)[:0]) })
		}
		if err != nil {
			return err
		}
		if tag == "" {
			tag = req.form.Tag(httpx.Tag(body))
			done, err := req.checkTag(tag)
			if done {
				return err
			}
		}
		if r.media == openapi.JSONType {
			body = append(req.form.Wrap(body, req.total), '\n')
		}
		if cap(body) <= maxPooled {
			*buffer = body
		}
		if r.cache {
			req.responses.offer(tag, body)
		}
	}
	// A body stays in memory while a slow client reads it, even if the cache drops the body.
	if !req.reserve(int64(len(body))) {
		return problem.NoMemory()
	}
	req.setCacheHeaders(tag)
	req.sendTagged(req.Context, http.StatusOK, r.media, tag, body)
	return nil
}

// checkTag sends 304 if the client has the response with the tag. It returns an error if
// If-Match does not hold. It reports whether the request is done.
func (req *request) checkTag(tag string) (done bool, err error) {
	if err := req.checkRead(tag); err != nil {
		return true, err
	}
	known := httpx.MatchTag(req.Request.Header["If-None-Match"], tag, true)
	if known == "" {
		return false, nil
	}
	req.setCacheHeaders(known)
	req.Status(http.StatusNotModified)
	return true, nil
}

// setCacheHeaders lets the client cache the response, and makes the client revalidate the
// response before each use.
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

// sendText is respond for a body that can always be built.
func (req *request) sendText(r response, appendText func(b []byte) []byte) error {
	return req.respond(r, func(b []byte) ([]byte, error) { return appendText(b), nil })
}

// sendValue sends a value as JSON, or 304 if the client has the value.
func (req *request) sendValue(v any) error {
	return req.sendText(response{}, func(b []byte) []byte { return append(b, httpx.Marshal(v)...) })
}

// sendNow sends a value as JSON, and forbids caching.
func (req *request) sendNow(status int, v any) error {
	req.Header("Cache-Control", "no-store")
	return req.sendJSON(status, httpx.Marshal(v))
}

// sendJSON sends a JSON text that has no tag, and a newline.
func (req *request) sendJSON(status int, text []byte) error {
	req.send(req.Context, status, openapi.JSONType, append(text, '\n'))
	return nil
}

// sendNothing sends 204 (No Content).
func (req *request) sendNothing() error {
	req.Status(http.StatusNoContent)
	return nil
}

// send sends a whole response without tag, compressed if the client accepts gzip.
func (s *server) send(c *gin.Context, status int, contentType string, body []byte) {
	s.sendTagged(c, status, contentType, "", body)
}

// sendTagged is send with the tag of the body. If tag is not "", the compressed body is cached.
func (s *server) sendTagged(c *gin.Context, status int, contentType, tag string, body []byte) {
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
		w.retain(body)
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

// countedBody is the maximum size of bodies that net/http buffers, and whose length net/http
// adds.
const countedBody = 2 << 10

// write writes a whole response. net/http omits the body for HEAD.
func write(c *gin.Context, status int, body []byte) {
	// Without Content-Length most responses have eight headers, and their map need not grow.
	if status != http.StatusOK || len(body) > countedBody || c.Request.Method != http.MethodGet {
		c.Writer.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	c.Status(status)
	_, _ = c.Writer.Write(body) // an error means that the client has gone
}

// withBuildSlot runs do in one of a few slots. do must only compute: more computations at once
// would need more memory, and would not be faster.
func (s *server) withBuildSlot(do func()) {
	s.budget.builders <- struct{}{}
	defer func() { <-s.budget.builders }()
	do()
}
