package server

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// minCompressed is the size in bytes from which an answer is compressed.
const minCompressed = 1 << 10

// A coding is a content coding (RFC 9110 section 8.4).
type coding struct {
	name   string
	suffix string // of entity tags: compressed bytes are other bytes
	append func(dst, body []byte) []byte
}

// codings are all content codings, the best first.
var codings = []*coding{
	{"zstd", `-zstd"`, appendZstd},
	{"gzip", `-gzip"`, appendGzip},
}

// tag returns the entity tag of what has this tag without the coding.
func (c *coding) tag(plain string) string { return strings.TrimSuffix(plain, `"`) + c.suffix }

// plainTag returns an entity tag without the suffix of a coding.
func plainTag(tag string) string {
	for _, c := range codings {
		if plain, ok := strings.CutSuffix(tag, c.suffix); ok {
			return plain + `"`
		}
	}
	return tag
}

// codingFor returns the content coding for an answer of that size, nil for none. A
// small answer is only compressed for a client that refuses any other.
func (s *server) codingFor(r *http.Request, size int) *coding {
	header := r.Header["Accept-Encoding"]
	if len(header) == 0 || s.NoCompression || size < minCompressed && !strings.Contains(header[0], "q=0") {
		return nil
	}
	accepted := parseWeights(strings.Join(header, ","))
	identity, named := accepted["identity"]
	if any, ok := accepted["*"]; ok && !named {
		named, identity = any == 0, any
	}
	if size < minCompressed && !(named && identity == 0) {
		return nil
	}
	var best *coding
	most := 0.0
	for _, c := range codings {
		if q := accepted.coding(c.name); q > most && !(named && identity > q) {
			best, most = c, q
		}
	}
	return best
}

// sendCoded is send with a coding. If tag is not "", it is that of exactly these
// bytes, and the result is cached.
func (s *server) sendCoded(c *gin.Context, status int, coding *coding, tag string, body []byte) {
	h := c.Writer.Header()
	h.Set("Content-Encoding", coding.name)
	//lint:ignore SA1008 setTag spells it as RFC 9110 does
	if sent := h["ETag"]; sent != nil {
		h["ETag"] = []string{coding.tag(sent[0])}
	}
	if w, ok := c.Writer.(*recordingWriter); ok {
		w.keep(body)
	}
	if tag != "" {
		tag = coding.tag(tag)
		if cached := s.responses.get(tag); cached != nil {
			write(c, status, cached)
			return
		}
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	var out []byte
	s.withBuildSlot(func() { out = coding.append((*buffer)[:0], body) })
	if cap(out) <= maxPooled {
		*buffer = out
	}
	if tag != "" {
		s.responses.offer(tag, out)
	}
	write(c, status, out)
}

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // only an unknown level is an error
	}
	return w
}}

func appendGzip(dst, body []byte) []byte {
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	out := bytes.NewBuffer(dst)
	w.Reset(out)
	_, _ = w.Write(body) // a bytes.Buffer returns no error
	_ = w.Close()
	w.Reset(io.Discard) // the pool must not keep the buffer
	return out.Bytes()
}

// zstdWriter returns the encoder that all requests share.
var zstdWriter = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // only a wrong option is an error
	}
	return w
})

func appendZstd(dst, body []byte) []byte { return zstdWriter().EncodeAll(body, dst) }
