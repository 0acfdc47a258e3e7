package query

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// workLimit limits the text that a query may search, in bytes. Each byte counts once for each
// value to be found, and patternCost times for each instruction of a pattern's program. Each
// search costs lookBytes more, or matchBytes for a pattern. A query reaches the limit after
// one or two seconds.
const (
	workLimit   = 10_000_000_000
	patternCost = 50
	lookBytes   = 16
	matchBytes  = 4
)

// A Matcher decides which values a query selects, in a single run.
type Matcher struct {
	q      *Query
	embed  func(v jsontext.Value) (jsontext.Value, error) // nil embeds nothing
	work   int
	err    error          // set if the query costs too much
	full   jsontext.Value // the current value with embedded records, if needed yet
	folded []byte         // scratch
}

// Matcher returns a Matcher for a single run of q. The function embed returns a value with the
// records to embed; nil embeds nothing.
func (q *Query) Matcher(embed func(v jsontext.Value) (jsontext.Value, error)) *Matcher {
	return &Matcher{q: q, embed: embed}
}

// Match reports whether the query selects the value.
func (m *Matcher) Match(v jsontext.Value) bool {
	m.full = nil
	return m.matches(&m.q.filter, v)
}

// Err returns the *Error that ended the run early, if any.
func (m *Matcher) Err() error { return m.err }

// find returns what is at a path of the current value v, embedded records included.
func (m *Matcher) find(p Path, v jsontext.Value) (jsontext.Value, bool) {
	if m.embed != nil && m.q.EmbedsAt(p) {
		if m.full == nil && m.err == nil {
			m.full, m.err = m.embed(v)
		}
		v = m.full
	}
	return p.Find(v)
}

// matches reports whether v satisfies f.
func (m *Matcher) matches(f *filter, v jsontext.Value) bool {
	if f.term != nil {
		return m.satisfies(f.term, v) != f.not
	}
	for _, p := range f.parts {
		if m.matches(p, v) == f.any || m.err != nil {
			return f.any != f.not
		}
	}
	return f.any == f.not
}

// satisfies reports whether v satisfies t.
func (m *Matcher) satisfies(t *term, v jsontext.Value) bool {
	switch t.op {
	case opSearch:
		return m.search(t, v)
	case opRefers:
		id, _ := rawjson.Member(v, t.path[0])
		return RefersTo(id, string(t.values[0].text))
	}
	v, found := m.find(t.path, v)
	exists := found && v.Kind() != 'n'
	switch t.op {
	case opExists:
		return !slices.ContainsFunc(t.values, func(o operand) bool { return (o.text[0] == 't') != exists })
	case opNe:
		return exists && !anyScalar(v, t.equalTo)
	}
	if !found {
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

// anyScalar reports whether test is true of the scalar v, or of a scalar element
// of the array v.
func anyScalar(v jsontext.Value, test func(jsontext.Value) bool) bool {
	if k := v.Kind(); k != '[' {
		return k != '{' && test(v)
	}
	for e := range rawjson.Elements(v) {
		if k := e.Kind(); k != '[' && k != '{' && test(e) {
			return true
		}
	}
	return false
}

// Spend counts work and reports whether the limit still allows it.
func (m *Matcher) Spend(parameter string, work int) bool {
	m.work += lookBytes + work
	if m.work > workLimit && m.err == nil {
		m.err = Errorf(parameter, "this would take too long on so much text: "+
			"look for less, or narrow the list with other filters")
	}
	return m.err == nil
}

// textTests are the operators on strings.
var textTests = [...]func(s, value []byte) bool{
	opContains: bytes.Contains, opStartsWith: bytes.HasPrefix, opEndsWith: bytes.HasSuffix,
}

// text reports whether the string v satisfies t without regard to case.
func (m *Matcher) text(t *term, v jsontext.Value) bool {
	m.folded = AppendFolded(m.folded[:0], rawjson.UnquoteBytes(v))
	all := t.op != opContains // which needs only one of the values
	for _, value := range t.folded {
		if !m.Spend(t.name, len(m.folded)) {
			return false
		}
		if textTests[t.op](m.folded, value) != all {
			return !all
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
			m.folded = AppendFolded(m.folded[:0], s)
			if m.Spend(t.name, len(s)) && bytes.Contains(m.folded, p.literal) {
				return true
			}
		} else if m.Spend(t.name, (len(s)+matchBytes)*p.program*patternCost) && p.re.Match(s) {
			return true
		}
	}
	return false
}

// search reports whether each text of t occurs in a value at any depth of v. It does not
// search the names of fields.
func (m *Matcher) search(t *term, v jsontext.Value) bool {
	if t.raw.missing(v) {
		m.Spend(t.name, len(v))
		return false
	}
	m.folded = appendValues(m.folded[:0], v)
	for _, text := range t.folded {
		if !m.Spend(t.name, len(v)) || !bytes.Contains(m.folded, text) {
			return false
		}
	}
	return true
}

// appendValues appends all strings, numbers and booleans within v, folded. A byte that occurs
// in no text follows each value.
func appendValues(dst []byte, v jsontext.Value) []byte {
	for i := 0; i < len(v); {
		at := i
		switch v[i] {
		case '{', '}', '[', ']', ',', ':', ' ', '\t', '\n', '\r':
			i++
		case '"':
			i = rawjson.SkipString(v, i)
			if next := rawjson.SkipSpace(v, i); next == len(v) || v[next] != ':' { // not the name of a field
				dst = append(AppendFolded(dst, rawjson.UnquoteBytes(v[at:i])), 0xff)
			}
		default:
			i = rawjson.SkipValue(v, i)
			if v[at] != 'n' {
				dst = append(AppendFolded(dst, v[at:i]), 0xff)
			}
		}
	}
	return dst
}

// RefersTo reports whether the scalar v, as text, is the id.
func RefersTo(v jsontext.Value, id string) bool {
	text, ok := rawjson.Text(v)
	return ok && text == id
}
