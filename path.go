package pickup

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A path leads from a record to a value within it.
type path []step

// A step goes into an object by name, or into an array by index where index is
// not negative.
type step struct {
	name  string
	index int
}

// walk returns the value at p within v.
func (p path) walk(v jsontext.Value) (jsontext.Value, bool) {
	i := skipSpace(v, 0)
	for _, s := range p {
		next := memberAt(v, i, s.name)
		if next < 0 && s.index >= 0 {
			next = elementAt(v, i, s.index)
		}
		if next < 0 {
			return nil, false
		}
		i = next
	}
	return v[i:skipValue(v, i)], true
}

// String tells paths apart that lead to different places, whatever names have
// in them.
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteString(strconv.Quote(s.name))
	}
	return b.String()
}

// parsePath reads a.b, tags[0] and tags.0.
func parsePath(name string) path {
	var p path
	for part := range strings.SplitSeq(name, ".") {
		first := true
		for piece := range strings.SplitSeq(part, "[") {
			if !first {
				piece = strings.TrimSuffix(piece, "]")
			}
			index := -1
			if n, err := strconv.Atoi(piece); err == nil && digits(piece) {
				index = n
			}
			p = append(p, step{piece, index})
			first = false
		}
	}
	return p
}
