package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// Limits of a condition, in addition to those of the query.
const (
	maxWhereDepth = 32
	maxWhereParts = 256
)

// A whereReader reads the JSON of a condition.
type whereReader struct{ *parser }

// where adds a condition to the query: an object whose members all hold.
//
//	"and": […], "or": […]       conditions that all hold, or one of which does
//	"not": {…}                  a condition that does not
//	"f": {"op": value, …}       operators on a member or a path, which all hold
//	"f": value                  equal
//	"f": {"g": {…}}             a condition on what is within f
//	"f": {"or": [{"op": …}]}    operators on f joined otherwise
//
// Values are scalars, in "in" also lists of them. They are read as if they
// stood in a URL: 2 and "2" are the same. Null is a condition that always
// holds.
func (p *parser) where(v jsontext.Value) error {
	const mistake = "a condition is JSON like {\"or\":[{\"views\":{\"gt\":10}},{\"title\":{\"contains\":\"x\"}}]}"
	if !v.IsValid() { // invalid UTF-8 and names that stand twice among it
		return &Error{Parameter: "_where", Detail: "this is not valid JSON; " + mistake}
	}
	v = rawjson.Compact(v)
	switch v.Kind() {
	case 'n':
		return nil
	case '{':
	default:
		return &Error{Parameter: "_where", Detail: "this is " + rawjson.KindName(v) + "; " + mistake}
	}
	w := whereReader{p}
	f, err := w.condition(v, nil, "", 0)
	if err != nil {
		return err
	}
	p.q.filter.parts = append(p.q.filter.parts, f.parts...)
	return nil
}

func refuse(at, format string, args ...any) error {
	return &Error{Parameter: "_where", Pointer: at, Detail: fmt.Sprintf(format, args...)}
}

// condition reads an object of which each member is a condition: on what is at
// the path within, where that is not empty. Pointers to it begin with at.
func (w whereReader) condition(v jsontext.Value, within Path, at string, depth int) (*filter, error) {
	f := new(filter)
	if w.parts++; w.parts > maxWhereParts {
		return nil, refuse(at, "a query has at most %d conditions", maxWhereParts)
	}
	if depth > maxWhereDepth {
		return nil, refuse(at, "conditions nest at most %d levels deep", maxWhereDepth)
	}
	for quoted, value := range rawjson.Members(v) {
		name := rawjson.Unquote(quoted)
		part, err := w.member(name, value, within, at+rawjson.Pointer(name), depth)
		if err != nil {
			return nil, err
		}
		if part.term == nil && !part.any && !part.not {
			f.parts = append(f.parts, part.parts...)
		} else {
			f.parts = append(f.parts, part)
		}
	}
	return f, nil
}

// member reads one member of a condition.
func (w whereReader) member(name string, v jsontext.Value, within Path, at string, depth int) (*filter, error) {
	switch name {
	case "and", "or":
		return w.list(name == "or", v, within, at, depth)
	case "not":
		if v.Kind() != '{' {
			return nil, refuse(at, "not takes a condition, which is an object")
		}
		f, err := w.condition(v, within, at, depth+1)
		if err == nil {
			f.not = true
		}
		return f, err
	}
	if len(within) > 0 {
		if op, ok := operatorCalled(name); ok {
			return w.test(within, op, v, at)
		}
		if v.Kind() != '{' { // a scalar was meant for an operator
			return nil, refuse(at, "there is no operator %q%s", rawjson.Shorten(name), spell.DidYouMean(name, "the operators", operators))
		}
	}
	switch v.Kind() {
	case '{':
		return w.condition(v, w.to(within, name), at, depth+1)
	case '[':
		return nil, refuse(at, "a list needs the operator in: {%q:{\"in\":%s}}", rawjson.Shorten(name), rawjson.Show(v))
	}
	return w.test(w.to(within, name), opEq, v, at)
}

// to returns the path of what is called name within what is at a path.
func (w whereReader) to(within Path, name string) Path {
	if len(within) == 0 {
		return w.path("_where", name)
	}
	to := slices.Clip(within)
	if strings.ContainsAny(name, ".[") {
		to = append(to, parsePath(name)...)
	} else {
		to = append(to, step{name, -1})
	}
	w.q.named = append(w.q.named, Named{"_where", name, to})
	return to
}

// list reads the list of an and or an or.
func (w whereReader) list(any bool, v jsontext.Value, within Path, at string, depth int) (*filter, error) {
	f := &filter{any: any}
	if v.Kind() != '[' {
		return nil, refuse(at, "and and or take a list of conditions")
	}
	for e := range rawjson.Elements(v) {
		at := fmt.Sprintf("%s/%d", at, len(f.parts))
		if e.Kind() != '{' {
			return nil, refuse(at, "a condition is an object, not %s", rawjson.KindName(e))
		}
		part, err := w.condition(e, within, at, depth+1)
		if err != nil {
			return nil, err
		}
		f.parts = append(f.parts, part)
	}
	return f, nil
}

// test reads the operand of an operator.
func (w whereReader) test(to Path, op operator, v jsontext.Value, at string) (*filter, error) {
	t, err := w.term(&term{name: "_where", path: to, op: op})
	if err != nil {
		return nil, err
	}
	add := func(v jsontext.Value) {
		switch {
		case v.Kind() == '{' || v.Kind() == '[':
			err = refuse(at, "%s compares with a string, a number, true, false or null, not with %s", operators[op], rawjson.KindName(v))
		case v.Kind() == 'n' && op != opEq && op != opNe && op != opIn:
			err = refuse(at, "nothing is %s null; use exists to ask whether there is a value", operators[op])
		case len(t.values) == maxValues:
			err = refuse(at, "a filter has at most %d values", maxValues)
		case v.Kind() == '"':
			err = t.add(rawjson.Unquote(v))
		default:
			err = t.add(string(v))
		}
		if e, ok := err.(*Error); ok {
			e.Pointer = at
		}
	}
	if op == opIn && v.Kind() == '[' {
		for e := range rawjson.Elements(v) {
			if add(e); err != nil {
				break
			}
		}
	} else {
		add(v)
	}
	return &filter{term: t}, err
}
