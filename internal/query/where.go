package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// maxWhereParts limits a condition, in addition to the limits of the query.
const maxWhereParts = 256

// where adds a condition to the query. A condition is an object whose fields must all match.
//
//	"and": […], "or": […]       conditions: all, or at least one, must match
//	"not": {…}                  a condition that must not match
//	"f": {"op": value, …}       operators on a field or a path
//	"f": value                  equals
//	"f": {"g": {…}}             a condition on a value within f
//	"f": {"or": [{"op": …}]}    operators on f, joined by or
//
// Values are scalars, for "in" also lists of scalars. Values mean the same as in a URL: 2 and "2"
// are equal. A condition that is null always matches. An empty operand of lt, lte, gt or gte is
// ignored, and so is an object that consists of such operands only.
func (p *parser) where(v jsontext.Value) error {
	const mistake = "a condition is JSON like {\"or\":[{\"views\":{\"gt\":10}},{\"title\":{\"contains\":\"x\"}}]}"
	if !v.IsValid() { // includes invalid UTF-8 and duplicate names
		return refuse("", "this is not valid JSON; %s", mistake)
	}
	v = rawjson.Compact(v)
	if v.Kind() == 'n' {
		return nil
	}
	if v.Kind() != '{' {
		return refuse("", "this is %s; %s", rawjson.KindName(v), mistake)
	}
	f, err := p.condition(v, nil, "")
	if err != nil || f == nil {
		return err
	}
	p.q.filter.parts = append(p.q.filter.parts, f.parts...)
	return nil
}

func refuse(at, format string, args ...any) error {
	return &Error{Parameter: "_where", Pointer: at, Detail: fmt.Sprintf(format, args...)}
}

// condition parses an object whose fields are conditions. If the path within is not empty, the
// conditions are on the value at that path. The pointer of the object is at. The filter is nil
// if all fields are ignored.
func (p *parser) condition(v jsontext.Value, within Path, at string) (*filter, error) {
	f := new(filter)
	p.parts++
	if p.parts > maxWhereParts {
		return nil, refuse(at, "a query has at most %d conditions", maxWhereParts)
	}
	empty := 0
	for name, value := range rawjson.Fields(v) {
		part, err := p.member(name, value, within, at+rawjson.Pointer(name))
		if err != nil {
			return nil, err
		}
		if part == nil {
			empty++
			continue
		}
		if part.term == nil && !part.any && !part.not {
			f.parts = append(f.parts, part.parts...)
		} else {
			f.parts = append(f.parts, part)
		}
	}
	if empty > 0 && len(f.parts) == 0 {
		return nil, nil
	}
	return f, nil
}

// member parses a field of a condition. The filter is nil if the field is ignored.
func (p *parser) member(name string, v jsontext.Value, within Path, at string) (*filter, error) {
	switch name {
	case "and", "or":
		return p.list(name == "or", v, within, at)
	case "not":
		if v.Kind() != '{' {
			return nil, refuse(at, "not takes a condition, which is an object")
		}
		f, err := p.condition(v, within, at)
		if f != nil {
			f.not = true
		}
		return f, err
	}
	if len(within) > 0 {
		if op, ok := operatorCalled(name); ok {
			return p.operand(within, op, v, at)
		}
		if v.Kind() != '{' { // name was meant as an operator
			return nil, refuse(at, "%s", UnknownOperator("", name).Detail)
		}
	}
	switch v.Kind() {
	case '{':
		return p.condition(v, p.to(within, name), at)
	case '[':
		return nil, refuse(at, "a list needs the operator in: {%q:{\"in\":%s}}", rawjson.Shorten(name), rawjson.Show(v))
	}
	return p.operand(p.to(within, name), opEq, v, at)
}

// to returns the path of a name within a path.
func (p *parser) to(within Path, name string) Path {
	if len(within) == 0 {
		return p.path("_where", name)
	}
	to := slices.Clip(within)
	if strings.ContainsAny(name, ".[") {
		to = append(to, parsePath(name)...)
	} else {
		to = append(to, name)
	}
	p.q.Named = append(p.q.Named, Named{"_where", name, to})
	return to
}

// list parses the list of an "and" or an "or".
func (p *parser) list(any bool, v jsontext.Value, within Path, at string) (*filter, error) {
	f := &filter{any: any}
	if v.Kind() != '[' {
		return nil, refuse(at, "and and or take a list of conditions")
	}
	empty := 0
	for e := range rawjson.Elements(v) {
		at := fmt.Sprintf("%s/%d", at, len(f.parts)+empty)
		if e.Kind() != '{' {
			return nil, refuse(at, "a condition is an object, not %s", rawjson.KindName(e))
		}
		part, err := p.condition(e, within, at)
		if err != nil {
			return nil, err
		}
		if part == nil {
			empty++
			continue
		}
		f.parts = append(f.parts, part)
	}
	if empty > 0 && len(f.parts) == 0 {
		return nil, nil
	}
	return f, nil
}

// operand parses the operand of an operator. The filter is nil if the operand is ignored.
func (p *parser) operand(to Path, op operator, v jsontext.Value, at string) (*filter, error) {
	if op.compares() && string(v) == `""` {
		return nil, nil
	}
	t, err := p.count(&term{name: "_where", path: to, op: op})
	if err != nil {
		return nil, err
	}
	if op != opIn || v.Kind() != '[' {
		return &filter{term: t}, t.addOperand(v, at)
	}
	for e := range rawjson.Elements(v) {
		if err := t.addOperand(e, at); err != nil {
			return nil, err
		}
	}
	return &filter{term: t}, nil
}

// addOperand adds a value of a condition in JSON.
func (t *term) addOperand(v jsontext.Value, at string) error {
	name := operators[t.op]
	text := string(v)
	switch v.Kind() {
	case '{', '[':
		return refuse(at, "%s compares with a string, a number, true, false or null, not with %s",
			name, rawjson.KindName(v))
	case 'n':
		if t.op != opEq && t.op != opNe && t.op != opIn {
			return refuse(at, "%s cannot compare with null; use exists to ask whether there is a value", name)
		}
	case '"':
		text = rawjson.Unquote(v)
	}
	err := t.add(text)
	if e, ok := err.(*Error); ok {
		e.Pointer = at
	}
	return err
}
