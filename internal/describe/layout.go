package describe

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// layOut appends the compact value v indented by two spaces a level. A value
// that fits on a line and has at most one object is written on one.
func layOut(dst []byte, v jsontext.Value, depth int) []byte {
	const most = 80
	if len(v) == 0 || v[0] != '{' && v[0] != '[' {
		return append(dst, v...)
	}
	if len(v)+2*depth <= most && bytes.Count(v, []byte("{")) <= 1 || len(v) == 2 {
		return appendSpaced(dst, v)
	}
	indent := "\n" + strings.Repeat("  ", depth+1)
	first := true
	open := func() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, indent...)
	}
	dst = append(dst, v[0])
	for name, e := range rawjson.Members(v) {
		open()
		dst = layOut(append(append(dst, name...), ": "...), e, depth+1)
	}
	for e := range rawjson.Elements(v) {
		open()
		dst = layOut(dst, e, depth+1)
	}
	return append(append(dst, indent[:len(indent)-2]...), v[0]+2)
}

// appendSpaced appends a compact value with a space after commas and colons.
func appendSpaced(dst []byte, v jsontext.Value) []byte {
	for i := 0; i < len(v); {
		if v[i] == '"' {
			end := rawjson.SkipString(v, i)
			dst = append(dst, v[i:end]...)
			i = end
			continue
		}
		dst = append(dst, v[i])
		if v[i] == ',' || v[i] == ':' {
			dst = append(dst, ' ')
		}
		i++
	}
	return dst
}
