package rawjson

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// mergeDepth is the depth from which Merge leaves values unchanged, because each level costs
// another scan of the text inside. People do not nest so deep, but a program may.
const mergeDepth = 32

// Merge returns the value v in the order of old, which v replaces. Common fields keep the place
// and the spelling of their names in old; a new field follows the same field as in v. Equal
// strings keep their spelling. Merge also merges the values of fields, and elements with their
// Partners. If the values are a collection, idMember is the field with the ids of the records;
// otherwise idMember is empty. Another Merge of the result changes nothing.
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

// MergeElements is Merge for the elements of collections. It changes v.
func MergeElements(old, v []jsontext.Value, idMember string) { mergeElements(old, v, idMember, 0) }

// mergeElements reports whether an element of v has changed.
func mergeElements(old, v []jsontext.Value, idMember string, depth int) (changed bool) {
	partners, _, _ := Partners(old, v, idMember)
	for i, partner := range partners {
		if partner < 0 {
			continue
		}
		merged := merge(old[partner], v[i], "", depth)
		changed = changed || !bytes.Equal(merged, v[i])
		v[i] = merged
	}
	return changed
}

// Partners returns, for each element of the array v, the index of the element of old that
// the element changes, or -1 for a new element. The first head and the last foot elements of
// both arrays are equal. In between, the partner is the element with the same index or, in a
// collection with idMember, the element with the same id, if there is an id.
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
		for i := len(old) - foot - 1; i >= head; i-- { // the first element with an id counts
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
	was := make([]member, 0, 12) // most records have fewer
	for name, value := range Members(old) {
		was = append(was, member{name, value})
	}
	var indexes map[string]int // in was, made only for fields in another order
	next := 0                  // the index after the latest common field
	index := func(name jsontext.Value) (at int, ok bool) {
		if next < len(was) && bytes.Equal(was[next].name, name) {
			return next, true
		}
		if indexes == nil {
			indexes = make(map[string]int, len(was))
			for i := range was {
				indexes[Unquote(was[i].name)] = i
			}
		}
		at, ok = indexes[Unquote(name)]
		return at, ok
	}
	set := make([]jsontext.Value, len(was)) // the new values
	var added map[int][]member              // new fields by the index of the next old field
	changed := false
	for name, value := range Members(v) {
		at, ok := index(name)
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
