package query

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A Path leads from a record to a value within it.
type Path []step

// A step goes into an object by name, or into an array if index is not negative.
type step struct {
	name  string
	index int
}

func newStep(name string) step {
	if n, err := strconv.Atoi(name); err == nil && rawjson.IsIndex(name) {
		return step{name, n}
	}
	return step{name, -1}
}

// Find returns the value at p within v.
func (p Path) Find(v jsontext.Value) (jsontext.Value, bool) {
	i := rawjson.SkipSpace(v, 0)
	for _, s := range p {
		next := rawjson.MemberAt(v, i, s.name)
		if next < 0 && s.index >= 0 {
			next = rawjson.ElementAt(v, i, s.index)
		}
		if next < 0 {
			return nil, false
		}
		i = next
	}
	return v[i:rawjson.SkipValue(v, i)], true
}

// String returns a different string for every path.
func (p Path) String() string { return rawjson.Pointer(p.Names()...) }

// parsePath parses a.b, tags[0] and tags.0.
func parsePath(name string) Path {
	var p Path
	for part := range strings.SplitSeq(name, ".") {
		for i, piece := range strings.Split(part, "[") {
			if i > 0 {
				piece = strings.TrimSuffix(piece, "]")
			}
			p = append(p, newStep(piece))
		}
	}
	return p
}

// PathOf returns the path that name means in a filter, or else as a JSON Pointer
// (RFC 6901), which begins with a slash.
func PathOf(names Names, name string) Path {
	if !strings.HasPrefix(name, "/") || names.Has(name) {
		return pathOf(names, name)
	}
	var p Path
	for i, token := range rawjson.SplitPointer(name) {
		s := newStep(token)
		if i == 0 {
			s.index = -1 // a record has fields
		}
		p = append(p, s)
	}
	return p
}

// pathOf returns the path that name means. A name that occurs in the collection
// is that field, however it is spelled. An alias means its field.
func pathOf(names Names, name string) Path {
	if canonical, ok := names.Alias(name); ok {
		name = canonical
	}
	if !strings.ContainsAny(name, ".[") || names.Has(name) {
		return Path{{name, -1}}
	}
	p := parsePath(name)
	p[0].index = -1 // a record has fields
	if canonical, ok := names.Alias(p[0].name); ok {
		p[0].name = canonical
	}
	return p
}

// Member returns the field of a record that p begins with.
func (p Path) Member() string { return p[0].name }

// Names returns the steps of p as they are spelled: an index is a number.
func (p Path) Names() []string {
	names := make([]string, len(p))
	for i, s := range p {
		names[i] = s.name
	}
	return names
}
