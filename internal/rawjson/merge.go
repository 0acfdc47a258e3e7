package rawjson

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// mergeDepth is the depth from which Merge takes values as they are. Each level costs
// a scan of everything in it. People do not nest so deep, but a program may.
const mergeDepth = 32

// Merge returns the value v in the order of old, the value that it replaces. Fields of
// both stay where they are in old and keep the spelling of their names; a new one
// follows the field that it follows in v. Equal strings keep their spelling. Values of
// fields are merged in the same way, and so are elements with their Partners. If the
// values are a collection, idMember is the field with the ids of its records; otherwise it
// is empty. What Merge returns is already in the order of old.
func Merge(old, v jsontext.Value, idMember string) jsontext.Value { return merge(old, v, idMember, 0) }

func merge(old, v jsontext.Value, idMember string, depth int) jsontext.Value {
	kind := v.Kind()
	if kind == '"' && SameUnescaped(old, v) {
		return old
	}
	if kind != '{' && kind != '[' || old.Kind() != kind || depth == mergeDepth || bytes.Equal(old, v) {
		return v
	}
	if kind == '{' {
		return mergeMembers(old, v, depth+1)
	}
	list := slices.Collect(Elements(v))
	if !mergeElements(slices.Collect(Elements(old)), list, idMember, depth+1) {
		return v
	}
	out := append(make([]byte, 0, len(v)), '[')
	for _, e := range list {
		out = append(AppendComma(out), e...)
	}
	return append(out, ']')
}

// MergeElements is Merge for the elements of collections. It replaces the elements of v that change.
func MergeElements(old, v []jsontext.Value, idMember string) { mergeElements(old, v, idMember, 0) }

// mergeElements reports whether it has changed an element of v.
func mergeElements(old, v []jsontext.Value, idMember string, depth int) (changed bool) {
	partners, _, _ := Partners(old, v, idMember)
	for i, partner := range partners {
		if partner < 0 {
			continue
		}
		if merged := merge(old[partner], v[i], "", depth); !bytes.Equal(merged, v[i]) {
			v[i], changed = merged, true
		}
	}
	return changed
}

// Partners returns, for each element of an array v that replaces the array old, the
// index of the element of old that it changes, or -1 if it is new. The first head and the
// last foot elements of both are equal. In between, elements change those with the same
// index or, in a collection, those with the same id in the field called idMember, if
// they have one.
func Partners(old, v []jsontext.Value, idMember string) (partners []int, head, foot int) {
	partners = make([]int, len(v))
	head, foot = commonEnds(old, v, SameUnescaped)
	for i := range head {
		partners[i] = i
	}
	for i := range foot {
		partners[len(v)-1-i] = len(old) - 1 - i
	}
	id := func(e jsontext.Value) string {
		if idMember == "" {
			return ""
		}
		value, _ := Member(e, idMember)
		text, _ := Text(value)
		return text
	}
	byID := make(map[string]int)
	if idMember != "" {
		for i := len(old) - foot - 1; i >= head; i-- { // the first one has the id
			byID[id(old[i])] = i
		}
	}
	for i := head; i < len(v)-foot; i++ {
		partners[i] = -1
		if text := id(v[i]); text != "" {
			if at, ok := byID[text]; ok {
				partners[i] = at
				delete(byID, text)
			}
		} else if i < len(old)-foot && id(old[i]) == "" {
			partners[i] = i
		}
	}
	return partners, head, foot
}

// sameText reports whether two values are the same text apart from white space.
func sameText(a, b jsontext.Value) bool {
	return bytes.Equal(a, b) || bytes.Equal(Compact(a), Compact(b))
}

// SameUnescaped reports whether two values are the same text apart from white space and
// escapes.
func SameUnescaped(a, b jsontext.Value) bool {
	return bytes.Equal(a, b) || bytes.Equal(Unescaped(a), Unescaped(b))
}

// mergeMembers is merge for objects.
func mergeMembers(old, v jsontext.Value, depth int) jsontext.Value {
	type member struct{ name, value jsontext.Value }
	was := make([]member, 0, 12) // as most records have fewer
	for name, value := range Members(old) {
		was = append(was, member{name, value})
	}
	var places map[string]int // in was, made if the names do not follow one another
	next := 0
	place := func(name jsontext.Value) (at int, ok bool) {
		if next < len(was) && bytes.Equal(was[next].name, name) {
			return next, true
		}
		if places == nil {
			places = make(map[string]int, len(was))
			for i := range was {
				places[Unquote(was[i].name)] = i
			}
		}
		at, ok = places[Unquote(name)]
		return at, ok
	}
	set := make([]jsontext.Value, len(was)) // the new values
	var added map[int][]member              // new fields by the place after the one that they follow
	changed := false
	for name, value := range Members(v) {
		at, ok := place(name)
		if !ok {
			if added == nil {
				added = make(map[int][]member)
			}
			added[next] = append(added[next], member{name, value})
			continue
		}
		set[at] = merge(was[at].value, value, "", depth)
		changed = changed || at < next || !bytes.Equal(name, was[at].name) || !bytes.Equal(set[at], value)
		next = at + 1
	}
	if !changed {
		return v
	}
	out := append(make([]byte, 0, len(v)), '{')
	for i := 0; ; i++ {
		for _, m := range added[i] {
			out = AppendQuotedMember(out, m.name, m.value)
		}
		if i == len(was) {
			return append(out, '}')
		}
		if set[i] != nil {
			out = AppendQuotedMember(out, was[i].name, set[i])
		}
	}
}
