package query

import "github.com/go-json-experiment/json/jsontext"

// A filter is a condition on a record: a term, or parts that all hold.
type filter struct {
	term  *term
	parts []*filter
	any   bool // one of the parts is enough
	not   bool // the contrary is asked for
}

// A term asks something of the value at one path of a record.
type term struct {
	name string // of the parameter, for errors
	path Path
	op   operator

	values   []operand
	keys     map[string]bool // the equality keys of values, where these are many
	folded   [][]byte        // the values, of an op that ignores case
	patterns []*pattern      // of opLike
	present  bool            // opExists with true
	absent   bool            // opExists with false
	embedded bool            // the path begins in what _embed puts into the record
}

// manyValues is from where on values are looked up and not gone through.
const manyValues = 8

// add enters one more value. An error is a *Error.
func (t *term) add(value string) error {
	switch t.op {
	case opContains, opStartsWith, opEndsWith, opSearch:
		t.folded = append(t.folded, appendFolded(nil, []byte(value)))
	case opLike:
		p, err := compilePattern(t.name, value)
		if err != nil {
			return err
		}
		t.patterns = append(t.patterns, p)
	case opExists:
		switch value {
		case "true":
			t.present = true
		case "false":
			t.absent = true
		default:
			return &Error{Parameter: t.name, Detail: "it asks whether there is a value: true or false"}
		}
	}
	t.values = append(t.values, newOperand(value))
	return nil
}

// finish is called when all values are there.
func (t *term) finish() {
	switch t.op {
	case opLt, opLte, opGt, opGte:
		t.tighten()
	case opEq, opIn, opNe, opContains:
		if len(t.values) <= manyValues {
			return
		}
		t.keys = make(map[string]bool, len(t.values))
		for _, o := range t.values {
			for _, k := range o.keys() {
				t.keys[k] = true
			}
		}
	}
}

// tighten leaves of the values of lt, lte, gt or gte those that decide: of the
// numbers and of the texts the one that leaves the least room, and one that is
// no number, because no number is less or more than that.
func (t *term) tighten() {
	if len(t.values) == 1 {
		return
	}
	sign := 1
	if t.op == opLt || t.op == opLte {
		sign = -1
	}
	var number, text, other *operand
	for i := range t.values {
		o := &t.values[i]
		if text == nil || sign*compareText(o.text, text.text) > 0 {
			text = o
		}
		if !o.numeric {
			other = o
		} else if number == nil || sign*o.number.Compare(number.number) > 0 {
			number = o
		}
	}
	var left []operand
	for _, o := range []*operand{number, text, other} {
		if o != nil {
			left = append(left, *o)
		}
	}
	t.values = left
}

// equalTo reports whether the scalar v equals one of the values.
func (t *term) equalTo(v jsontext.Value) bool {
	if t.keys != nil {
		for _, k := range EqualityKeys(v) {
			if t.keys[k] {
				return true
			}
		}
		return false
	}
	for _, o := range t.values {
		if o.equals(v) {
			return true
		}
	}
	return false
}

// orderedBy reports whether the scalar v is less, or more, than all of the
// values, as the op asks.
func (t *term) orderedBy(v jsontext.Value) bool {
	for _, o := range t.values {
		c, ok := o.order(v)
		switch t.op {
		case opLt:
			ok = ok && c < 0
		case opLte:
			ok = ok && c <= 0
		case opGt:
			ok = ok && c > 0
		case opGte:
			ok = ok && c >= 0
		}
		if !ok {
			return false
		}
	}
	return true
}

// cost says how long it takes to decide f, as compared to others.
func (f *filter) cost() int {
	if f.term == nil {
		most := 2
		for _, p := range f.parts {
			most = max(most, p.cost())
		}
		return most
	}
	switch f.term.op {
	case opEq, opIn, opRefers:
		return 0
	case opContains, opStartsWith, opEndsWith:
		return 2
	case opSearch:
		return 3
	case opLike:
		return 4
	}
	return 1
}
