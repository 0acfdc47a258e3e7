package httpx

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWantsGzip is about what clients accept, for a large and a small answer.
func TestWantsGzip(t *testing.T) {
	for _, test := range []struct {
		accept []string
		large  bool
	}{
		{accept: nil},
		{accept: []string{""}},
		{accept: []string{"gzip"}, large: true},
		{accept: []string{"GZip"}, large: true},
		{accept: []string{"zstd"}},
		{accept: []string{"gzip, deflate, br, zstd"}, large: true},
		{accept: []string{"zstd", "gzip"}, large: true},
		{accept: []string{"zstd, gzip;q=0.5"}, large: true},
		{accept: []string{"gzip;q=0"}},
		{accept: []string{"gzip;q=0, *"}},
		{accept: []string{"*"}, large: true},
		{accept: []string{"*;q=0"}},
		{accept: []string{"*;q=0, gzip"}, large: true},
		{accept: []string{"br, deflate"}},
		{accept: []string{"identity"}},
		{accept: []string{"identity, gzip"}, large: true},
		{accept: []string{"identity, gzip;q=0.5"}, large: true},
		{accept: []string{"identity;q=0, gzip;q=0.1"}, large: true},
		{accept: []string{"identity;q=0"}},
		{accept: []string{"gzip;q=2"}},
		{accept: []string{"gzip;q=x, ,;"}},
	} {
		for size, want := range map[int]bool{minCompressed: test.large, minCompressed - 1: false} {
			r := httptest.NewRequest("GET", "/", nil)
			if test.accept != nil {
				r.Header["Accept-Encoding"] = test.accept
			}
			if got := WantsGzip(r, size); got != want {
				t.Errorf("%q, %d bytes: %v, and not %v", test.accept, size, got, want)
			}
		}
	}
}

// TestMatchTag compares entity tags with and without the suffix of a compressed answer.
func TestMatchTag(t *testing.T) {
	for _, test := range []struct {
		list, tag string
		weak      bool
		want      string
	}{
		{list: `"a"`, tag: `"a"`, want: `"a"`},
		{list: `"a-gzip"`, tag: `"a"`, want: `"a-gzip"`},
		{list: `"b", "a-gzip"`, tag: `"a"`, want: `"a-gzip"`},
		{list: `"a-zstd"`, tag: `"a"`},
		{list: `"a-gzip"`, tag: `"a-gzip"`, want: `"a-gzip"`}, // as it is
		{list: `"a"`, tag: `"a-gzip"`},
		{list: `"a-br"`, tag: `"a"`},
		{list: `"a-gzip-gzip"`, tag: `"a"`},
		{list: `W/"a-gzip"`, tag: `"a"`},
		{list: `W/"a-gzip"`, tag: `"a"`, weak: true, want: `"a-gzip"`},
		{list: `*`, tag: `"a"`, want: `"a"`},
	} {
		if got := MatchTag([]string{test.list}, test.tag, test.weak); got != test.want {
			t.Errorf("%s for %s: %q, and not %q", test.tag, test.list, got, test.want)
		}
	}
}

// TestAppendGzip decompresses what was appended to something.
func TestAppendGzip(t *testing.T) {
	for _, size := range []int{0, 1, 1000, 1 << 20} {
		text := strings.Repeat(`{"id":1}`, size/8) + strings.Repeat("x", size%8)
		for range 3 { // with a writer of the pool
			rest, ok := bytes.CutPrefix(AppendGzip([]byte("begin"), []byte(text)), []byte("begin"))
			r, err := gzip.NewReader(bytes.NewReader(rest))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); !ok || err != nil || string(got) != text {
				t.Fatalf("%d bytes: %.60q, %v", size, got, err)
			}
		}
	}
}

// BenchmarkAppendGzip compresses lists of records.
func BenchmarkAppendGzip(b *testing.B) {
	for _, size := range []int{100 << 10, 5 << 20} {
		var text []byte
		for i := 0; len(text) < size; i++ {
			text = fmt.Appendf(text, `{"id":"%d","driverId":"%d","title":"School run","passenger":"Emma and Max",`+
				`"pickupLocation":"%d Oak Street, by the gate","status":"Scheduled","note":"%x"},`, i, i%100, i*7%500, i*2654435761)
		}
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			var out []byte
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				out = AppendGzip(out[:0], text)
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
	}
}
