package query

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A query may look at so much text: workLimit counts a byte once for each
// value that is looked for in it, and patternCost times for each instruction
// of a pattern's program, which makes 2·10⁸ bytes × instructions. To begin
// costs something too, even where there is no text: as much as lookBytes, or
// matchBytes of a pattern. Either takes a second or two.
const (
	workLimit   = 10_000_000_000
	patternCost = 50
	lookBytes   = 16
	matchBytes  = 4
)

// A Matcher decides which values a query wants. It is for one run.
type Matcher struct {
	q      *Query
	embed  func(v jsontext.Value) (jsontext.Value, error) // nil: nothing is embedded
	work   int
	err    error          // the query costs too much
	full   jsontext.Value // the value at hand with what is embedded, made when it is needed
	folded []byte         // scratch
}

// Matcher returns a Matcher for one run of q. embed returns a value with what
// q embeds; nil embeds nothing.
func (q *Query) Matcher(embed func(v jsontext.Value) (jsontext.Value, error)) *Matcher {
	return &Matcher{q: q, embed: embed}
}

// Match reports whether the query wants the value.
func (m *Matcher) Match(v jsontext.Value) bool {
	m.full = nil
	return m.holds(&m.q.filter, v)
}

// Err returns why the values were not all looked at: a *Error.
func (m *Matcher) Err() error { return m.err }

// embedded returns the value at hand with what is embedded.
func (m *Matcher) embedded(v jsontext.Value) jsontext.Value {
	if m.full == nil && m.err == nil {
		m.full, m.err = m.embed(v)
	}
	return m.full
}

// holds reports whether f holds for v.
func (m *Matcher) holds(f *filter, v jsontext.Value) bool {
	if f.term != nil {
		return m.term(f.term, v) != f.not
	}
	for _, p := range f.parts {
		if m.holds(p, v) == f.any || m.err != nil {
			return f.any != f.not
		}
	}
	return f.any == f.not
}

// term reports whether t holds for v.
func (m *Matcher) term(t *term, v jsontext.Value) bool {
	switch t.op {
	case opSearch:
		return m.search(t, v)
	case opRefers:
		id, _ := rawjson.Member(v, t.path[0].name)
		return RefersTo(id, string(t.values[0].text))
	}
	if t.embedded && m.embed != nil {
		v = m.embedded(v)
	}
	v, found := t.path.Find(v)
	found = found && v.Kind() != 'n'
	switch {
	case t.op == opExists:
		return !(t.present && !found) && !(t.absent && found)
	case t.op == opNe:
		return found && !anyScalar(v, t.equalTo)
	case v == nil:
		return false
	}
	return anyScalar(v, func(e jsontext.Value) bool {
		switch t.op {
		case opEq, opIn:
			return t.equalTo(e)
		case opContains, opStartsWith, opEndsWith:
			return e.Kind() == '"' && m.text(t, e) ||
				t.op == opContains && v.Kind() == '[' && t.equalTo(e)
		case opLike:
			return m.like(t, e)
		}
		return t.orderedBy(e)
	})
}

// anyScalar reports whether holds is true of the scalar v, or of a scalar element
// of the array v.
func anyScalar(v jsontext.Value, holds func(jsontext.Value) bool) bool {
	if k := v.Kind(); k != '[' {
		return k != '{' && holds(v)
	}
	for e := range rawjson.Elements(v) {
		if k := e.Kind(); k != '[' && k != '{' && holds(e) {
			return true
		}
	}
	return false
}

// Spend counts work and reports whether there is still enough for it.
func (m *Matcher) Spend(parameter string, work int) bool {
	if m.work += lookBytes + work; m.work > workLimit && m.err == nil {
		m.err = &Error{Parameter: parameter, Detail: "this would take too long on so much text: look for less, or narrow the list with other filters"}
	}
	return m.err == nil
}

// text reports whether the string v answers t without regard to case.
func (m *Matcher) text(t *term, v jsontext.Value) bool {
	m.folded = appendFolded(m.folded[:0], rawjson.UnquoteBytes(v))
	all := t.op != opContains // of the values, or one of them
	for _, value := range t.folded {
		if !m.Spend(t.name, len(m.folded)) {
			return false
		}
		var ok bool
		switch t.op {
		case opStartsWith:
			ok = bytes.HasPrefix(m.folded, value)
		case opEndsWith:
			ok = bytes.HasSuffix(m.folded, value)
		default:
			ok = bytes.Contains(m.folded, value)
		}
		if ok != all {
			return ok
		}
	}
	return all
}

// like reports whether a pattern of t matches the scalar v.
func (m *Matcher) like(t *term, v jsontext.Value) bool {
	s := []byte(v)
	switch v.Kind() {
	case 'n':
		return false
	case '"':
		s = rawjson.UnquoteBytes(v)
	}
	for _, p := range t.patterns {
		if p.re == nil {
			m.folded = appendFolded(m.folded[:0], s)
			if m.Spend(t.name, len(s)) && bytes.Contains(m.folded, p.literal) {
				return true
			}
		} else if m.Spend(t.name, (len(s)+matchBytes)*p.program*patternCost) && p.re.Match(s) {
			return true
		}
	}
	return false
}

// search reports whether each of the texts of t is in some value at any depth
// of v. The names of members are not searched.
func (m *Matcher) search(t *term, v jsontext.Value) bool {
	m.folded = appendValues(m.folded[:0], v)
	for _, text := range t.folded {
		if !m.Spend(t.name, len(v)) || !bytes.Contains(m.folded, text) {
			return false
		}
	}
	return true
}

// appendValues appends all strings, numbers and booleans within v, folded, each
// followed by a byte that occurs in no text.
func appendValues(dst []byte, v jsontext.Value) []byte {
	for i := 0; i < len(v); {
		at := i
		switch v[i] {
		case '{', '}', '[', ']', ',', ':', ' ', '\t', '\n', '\r':
			i++
		case '"':
			i = rawjson.SkipString(v, i)
			if next := rawjson.SkipSpace(v, i); next == len(v) || v[next] != ':' { // else it is a name
				dst = append(appendFolded(dst, rawjson.UnquoteBytes(v[at:i])), 0xff)
			}
		default:
			if i = rawjson.SkipValue(v, i); v[at] != 'n' {
				dst = append(appendFolded(dst, v[at:i]), 0xff)
			}
		}
	}
	return dst
}

// RefersTo reports whether the scalar v is that id as text.
func RefersTo(v jsontext.Value, id string) bool {
	switch v.Kind() {
	case '0':
		return string(v) == id
	case '"':
		return rawjson.Unquote(v) == id
	}
	return false
}
