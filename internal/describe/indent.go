package describe

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// appendIndented appends the compact value v, indented by two spaces a level. A short value with at
// most one object is on one line.
func appendIndented(dst []byte, v jsontext.Value, depth int) []byte {
	const maxLine = 80
	kind := v.Kind()
	isScalar := kind != '{' && kind != '['
	isShort := len(v)+2*depth <= maxLine && bytes.Count(v, []byte("{")) <= 1
	if isScalar || isShort || len(v) == 2 {
		dst, _ = jsontext.AppendFormat(dst, v,
			jsontext.PreserveRawStrings(true), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
		return dst
	}
	indent := "\n" + strings.Repeat("  ", depth+1)
	separator := ""
	add := func(label []byte, e jsontext.Value) {
		dst = append(append(append(dst, separator...), indent...), label...)
		dst = appendIndented(dst, e, depth+1)
		separator = ","
	}
	dst = append(dst, byte(kind))
	for name, e := range rawjson.Members(v) {
		add(append(name.Clone(), ": "...), e)
	}
	for e := range rawjson.Elements(v) {
		add(nil, e)
	}
	return append(append(dst, indent[:len(indent)-2]...), rawjson.Closing(byte(kind)))
}
