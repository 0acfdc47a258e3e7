package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestCodingFor chooses codings by what clients accept, for a large and a small answer.
func TestCodingFor(t *testing.T) {
	for _, test := range []struct {
		accept       []string
		large, small string
	}{
		{accept: nil},
		{accept: []string{""}},
		{accept: []string{"gzip"}, large: "gzip"},
		{accept: []string{"GZip"}, large: "gzip"},
		{accept: []string{"zstd"}, large: "zstd"},
		{accept: []string{"gzip, deflate, br, zstd"}, large: "zstd"},
		{accept: []string{"gzip", "zstd"}, large: "zstd"},
		{accept: []string{"zstd;q=0.5, gzip"}, large: "gzip"},
		{accept: []string{"gzip;q=0"}},
		{accept: []string{"gzip;q=0, *"}, large: "zstd"},
		{accept: []string{"*"}, large: "zstd"},
		{accept: []string{"*;q=0"}},
		{accept: []string{"*;q=0, gzip"}, large: "gzip", small: "gzip"},
		{accept: []string{"br, deflate"}},
		{accept: []string{"identity"}},
		{accept: []string{"identity, gzip"}, large: "gzip"},
		{accept: []string{"identity, gzip;q=0.5"}},
		{accept: []string{"identity;q=0.5, gzip"}, large: "gzip"},
		{accept: []string{"identity;q=0, gzip;q=0.1"}, large: "gzip", small: "gzip"},
		{accept: []string{"identity;q=0"}},
		{accept: []string{"gzip;q=2"}},
		{accept: []string{"gzip;q=x, ,;"}},
	} {
		for size, want := range map[int]string{minCompressed: test.large, minCompressed - 1: test.small} {
			r := httptest.NewRequest("GET", "/", nil)
			if test.accept != nil {
				r.Header["Accept-Encoding"] = test.accept
			}
			got := ""
			if c := new(server).codingFor(r, size); c != nil {
				got = c.name
			}
			if got != want {
				t.Errorf("%q, %d bytes: %q, and not %q", test.accept, size, got, want)
			}
			if c := (&server{Options: Options{NoCompression: true}}).codingFor(r, size); c != nil {
				t.Errorf("%q: %s although it is off", test.accept, c.name)
			}
		}
	}
}

// TestMatchCoding compares entity tags with and without the suffix of a coding.
func TestMatchCoding(t *testing.T) {
	for _, test := range []struct {
		list, tag string
		weak      bool
		want      string
	}{
		{list: `"a"`, tag: `"a"`, want: `"a"`},
		{list: `"a-gzip"`, tag: `"a"`, want: `"a-gzip"`},
		{list: `"b", "a-zstd"`, tag: `"a"`, want: `"a-zstd"`},
		{list: `"a-gzip"`, tag: `"a-gzip"`, want: `"a-gzip"`}, // as it is
		{list: `"a"`, tag: `"a-gzip"`},
		{list: `"a-br"`, tag: `"a"`},
		{list: `"a-gzip-gzip"`, tag: `"a"`},
		{list: `W/"a-gzip"`, tag: `"a"`},
		{list: `W/"a-gzip"`, tag: `"a"`, weak: true, want: `"a-gzip"`},
		{list: `*`, tag: `"a"`, want: `"a"`},
	} {
		if got := match([]string{test.list}, test.tag, test.weak); got != test.want {
			t.Errorf("%s for %s: %q, and not %q", test.tag, test.list, got, test.want)
		}
	}
}

// Decoded returns what a coding has compressed.
func Decoded(t *testing.T, coding string, b []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(b)
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCodings decodes what each coding has appended to something.
func TestCodings(t *testing.T) {
	for _, c := range codings {
		for _, size := range []int{0, 1, 1000, 1 << 20} {
			text := strings.Repeat(`{"id":1}`, size/8) + strings.Repeat("x", size%8)
			for range 3 { // with a writer of the pool
				out := c.append([]byte("begin"), []byte(text))
				if rest, ok := bytes.CutPrefix(out, []byte("begin")); !ok || Decoded(t, c.name, rest) != text {
					t.Fatalf("%s of %d bytes: %.60q", c.name, size, out)
				}
			}
		}
	}
}

// BenchmarkCompress measures the codings on lists of records.
func BenchmarkCompress(b *testing.B) {
	for _, size := range []int{100 << 10, 5 << 20} {
		var text []byte
		for i := 0; len(text) < size; i++ {
			text = fmt.Appendf(text, `{"id":"%d","driverId":"%d","title":"School run","passenger":"Emma and Max",`+
				`"pickupLocation":"%d Oak Street, by the gate","status":"Scheduled","note":"%x"},`, i, i%100, i*7%500, i*2654435761)
		}
		for _, c := range codings {
			b.Run(fmt.Sprintf("%s,%dKB", c.name, size>>10), func(b *testing.B) {
				var out []byte
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					out = c.append(out[:0], text)
				}
				b.ReportMetric(float64(len(out)), "bytes")
			})
		}
	}
}
