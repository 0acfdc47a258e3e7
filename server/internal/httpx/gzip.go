package httpx

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// minCompressed is the minimum size of compressed responses, in bytes.
const minCompressed = 1 << 10

// gzipSuffix ends the entity tag of a compressed response.
const gzipSuffix = `-gzip"`

// GzipTag returns the entity tag of a compressed response from the tag of the plain response.
func GzipTag(plain string) string { return strings.TrimSuffix(plain, `"`) + gzipSuffix }

// plainTag returns an entity tag without the suffix of compressed responses.
func plainTag(tag string) string {
	if plain, ok := strings.CutSuffix(tag, gzipSuffix); ok {
		return plain + `"`
	}
	return tag
}

// WantsGzip reports whether a response of that size should be compressed with gzip.
func WantsGzip(r *http.Request, size int) bool { return size >= minCompressed && AcceptsGzip(r) }

// AcceptsGzip reports whether the client accepts the content coding gzip (RFC 9110
// section 12.5.3).
func AcceptsGzip(r *http.Request) bool {
	accepted := parseWeights(strings.Join(r.Header["Accept-Encoding"], ","))
	if weight, ok := accepted["gzip"]; ok {
		return weight > 0
	}
	return accepted["*"] > 0
}

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // only an unknown level is an error
	}
	return w
}}

// AppendGzip appends body, compressed with gzip.
func AppendGzip(dst, body []byte) []byte {
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	out := bytes.NewBuffer(dst)
	w.Reset(out)
	_, _ = w.Write(body) // a bytes.Buffer returns no error
	_ = w.Close()
	w.Reset(io.Discard) // the pool must not keep the buffer
	return out.Bytes()
}
