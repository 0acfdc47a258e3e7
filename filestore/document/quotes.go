package document

import (
	"bytes"
	"cmp"
	"strconv"

	"pickup/internal/rawjson"
)

// A file in JSON5 may have strings and names in single quotes, names without quotes, and numbers
// that JSON does not have.

// bare is the quote of a name that has no quotes.
const bare = '_'

// setQuotes sets the quotes for values of d that have no example.
func (d *Document) setQuotes(s *style) {
	s.json5 = d.json5
	if d.json5 && !d.strict {
		top := d.top()
		for i, m := range d.members {
			top.items[i].value = m.value
		}
		*s = s.quotedLike(top)
		for l := range d.listsAround(&member{}) {
			*s = s.quotedLike(l)
			if s.quote != 0 && s.names != 0 {
				break
			}
		}
	}
	s.quote = cmp.Or(s.quote, '"')
	s.names = cmp.Or(s.names, '"')
}

// quotedLike returns s with the quotes of the strings and names in l.
func (s style) quotedLike(l *list) style {
	if !s.json5 {
		return s
	}
	isBare := false
	for _, it := range l.items {
		if len(it.value) > 0 && rawjson.IsQuote(it.value[0]) {
			s.quote = it.value[0]
		}
		if len(it.label) == 0 || isBare {
			continue
		}
		isBare = !rawjson.IsQuote(it.label[0])
		if isBare {
			s.names = bare
		} else if rawjson.IsIdentifier(string(it.name())) {
			s.names = it.label[0]
		}
	}
	return s
}

// spell returns a scalar of JSON in the quotes of the first example that is a string.
func (s style) spell(v []byte, ex examples) []byte {
	if !s.json5 || v[0] != '"' {
		return v
	}
	for _, example := range ex() {
		if rawjson.IsQuote(example[0]) {
			return requote(v, example[0])
		}
	}
	return requote(v, s.quote)
}

// quoteName returns the name in a JSON string as names are in the file.
func (s style) quoteName(quoted []byte) []byte {
	if !s.json5 {
		return quoted
	}
	if s.names != bare {
		return requote(quoted, s.names)
	}
	if name := quoted[1 : len(quoted)-1]; rawjson.IsIdentifier(string(name)) {
		return name
	}
	return requote(quoted, s.quote)
}

// requote returns a JSON string with other quotes.
func requote(v []byte, quote byte) []byte {
	if quote == '"' {
		return v
	}
	inside := v[1 : len(v)-1]
	out := []byte{quote}
	for i := 0; i < len(inside); i++ {
		c := inside[i]
		if c == quote {
			out = append(out, '\\')
		}
		if c == '\\' {
			i++
			if inside[i] == '"' {
				c = '"'
			} else {
				out = append(out, c)
				c = inside[i]
			}
		}
		out = append(out, c)
	}
	return append(out, quote)
}

// nonFinite returns the pointers to Infinity and NaN in a value.
func nonFinite(v []byte) (pointers []string) {
	if !bytes.Contains(v, []byte("Infinity")) && !bytes.Contains(v, []byte("NaN")) {
		return nil
	}
	if rawjson.IsNonFinite(v) {
		return []string{""}
	}
	for i, it := range cutList(v).items {
		key := strconv.Itoa(i)
		if it.label != nil {
			key = string(it.name())
		}
		for _, p := range nonFinite(it.value) {
			pointers = append(pointers, rawjson.Pointer(key)+p)
		}
	}
	return pointers
}

// nonFinite returns the pointers to Infinity and NaN.
func (d *Document) nonFinite() (pointers []string) {
	if d.strict || !d.json5 {
		return nil
	}
	for _, m := range d.members {
		add := func(key string, v []byte) {
			for _, p := range nonFinite(v) {
				pointers = append(pointers, key+p)
			}
		}
		if m.array == nil {
			add(rawjson.Pointer(m.name), m.value)
			continue
		}
		i := 0
		for _, e := range m.array.elems.All() {
			add(rawjson.Pointer(m.name, strconv.Itoa(i)), e.value())
			i++
		}
	}
	return pointers
}
