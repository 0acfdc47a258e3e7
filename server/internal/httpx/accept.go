package httpx

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Prefers reports whether the Accept header (RFC 9110 section 12.5.1) prefers
// a media type to JSON: it has the higher weight, or the same weight and JSON is
// accepted only by a wildcard.
func Prefers(r *http.Request, media string) bool {
	accept := strings.Join(r.Header["Accept"], ",")
	if !strings.Contains(strings.ToLower(accept), media) {
		return false
	}
	accepted := parseWeights(accept)
	other, json := accepted[media], 0.0
	for _, name := range []string{"application/json", "application/*", "*/*"} { // the most specific one counts
		if q, ok := accepted[name]; ok {
			json = q
			break
		}
	}
	_, named := accepted["application/json"]
	return other > 0 && (other > json || other == json && !named)
}

// StreamType is the media type of server-sent events.
const StreamType = "text/event-stream"

// WantsStream reports whether a request asks for a stream of events.
func WantsStream(r *http.Request) bool { return IsRead(r) && Prefers(r, StreamType) }

// parseWeights returns the weights of the elements of a header like Accept.
// Elements that do not parse are ignored.
func parseWeights(header string) map[string]float64 {
	w := make(map[string]float64)
	for part := range strings.SplitSeq(header, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		q := 1.0
		if s, ok := parameters["q"]; ok && err == nil {
			q, err = strconv.ParseFloat(s, 64)
		}
		if err == nil && q >= 0 && q <= 1 {
			w[name] = max(w[name], q)
		}
	}
	return w
}

// minCompressed is the size in bytes from which an answer is compressed.
const minCompressed = 1 << 10

// gzipSuffix ends the entity tag of a compressed answer, which has other bytes.
const gzipSuffix = `-gzip"`

// GzipTag returns the entity tag of what has this tag uncompressed.
func GzipTag(plain string) string { return strings.TrimSuffix(plain, `"`) + gzipSuffix }

// plainTag returns an entity tag without the suffix of a compressed answer.
func plainTag(tag string) string {
	if plain, ok := strings.CutSuffix(tag, gzipSuffix); ok {
		return plain + `"`
	}
	return tag
}

// WantsGzip reports whether an answer of that size is to be compressed with gzip.
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
