package pickup

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// fields are the parts of a value that _fields asks for.
type fields struct {
	whole   bool // all of it
	parts   map[string]*fields
	byIndex bool // some part is an element of an array
}

// add enters a path.
func (f *fields) add(p path) {
	if len(p) == 0 {
		f.whole = true
		return
	}
	if f.parts == nil {
		f.parts = make(map[string]*fields)
	}
	f.byIndex = f.byIndex || p[0].index >= 0
	part := f.parts[p[0].name]
	if part == nil {
		part = new(fields)
		f.parts[p[0].name] = part
	}
	part.add(p[1:])
}

// append appends the parts of v in their order, and reports whether v can have
// parts. An object keeps its members of those names; an array its elements of
// those indexes, or where none is asked for by index the parts of each.
func (f *fields) append(dst []byte, v jsontext.Value) ([]byte, bool) {
	if f.whole {
		return append(dst, v...), true
	}
	switch v.Kind() {
	case '{':
		dst = append(dst, '{')
		start := len(dst)
		members(v, func(quoted, e jsontext.Value) bool {
			if part := f.parts[string(unquoted(quoted))]; part != nil {
				mark := len(dst)
				if mark > start {
					dst = append(dst, ',')
				}
				dst = append(append(dst, quoted...), ':')
				var ok bool
				if dst, ok = part.append(dst, e); !ok {
					dst = dst[:mark]
				}
			}
			return true
		})
		return append(dst, '}'), true
	case '[':
		dst = append(dst, '[')
		start := len(dst)
		i := 0
		elements(v, func(e jsontext.Value) bool {
			part := f
			if f.byIndex {
				part = f.parts[strconv.Itoa(i)]
			}
			i++
			if part != nil {
				mark := len(dst)
				if mark > start {
					dst = append(dst, ',')
				}
				var ok bool
				if dst, ok = part.append(dst, e); !ok {
					dst = dst[:mark]
				}
			}
			return true
		})
		return append(dst, ']'), true
	}
	return dst, false
}
