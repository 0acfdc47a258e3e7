package query

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A Path leads from a record to a value within, by names of fields and indexes of elements.
type Path []string

// Find returns the value at p within v.
func (p Path) Find(v jsontext.Value) (jsontext.Value, bool) {
	i := rawjson.SkipSpace(v, 0)
	for _, name := range p {
		next := rawjson.MemberAt(v, i, name)
		if next < 0 {
			next = rawjson.ElementAt(v, i, name)
		}
		if next < 0 {
			return nil, false
		}
		i = next
	}
	return v[i:rawjson.SkipValue(v, i)], true
}

// parsePath parses a.b, tags[0] and tags.0.
func parsePath(name string) Path {
	var p Path
	for piece := range strings.SplitSeq(strings.ReplaceAll(name, "[", ".["), ".") {
		if index, ok := strings.CutPrefix(piece, "["); ok {
			piece = strings.TrimSuffix(index, "]")
		}
		p = append(p, piece)
	}
	return p
}

// PathOf returns the path of a name, as in a filter or as a JSON Pointer (RFC 6901), which
// starts with a slash.
func PathOf(names Names, name string) Path {
	if !strings.HasPrefix(name, "/") || names.Has(name) {
		return pathOf(names, name)
	}
	return rawjson.SplitPointer(name)
}

// pathOf returns the path of a name in a filter. A name that occurs in the collection always
// means that field. An alias means the aliased field.
func pathOf(names Names, name string) Path {
	if canonical, ok := names.Alias(name); ok {
		name = canonical
	}
	if !strings.ContainsAny(name, ".[") || names.Has(name) {
		return Path{name}
	}
	p := parsePath(name)
	if canonical, ok := names.Alias(p[0]); ok {
		p[0] = canonical
	}
	return p
}
