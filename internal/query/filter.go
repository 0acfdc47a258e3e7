package query

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A filter is a condition on a record: a term, or parts that must all match.
type filter struct {
	term  *term
	parts []*filter
	any   bool // whether a single matching part is enough
	not   bool // whether the filter is negated
}

// A term is a condition on the value at one path of a record.
type term struct {
	name string // the parameter, for errors
	path Path
	op   operator

	values   []operand
	keys     map[string]bool // the equality keys of the values, for operators that test equality
	folded   [][]byte        // the folded values, for operators that ignore case
	raw      rawText         // for opSearch
	patterns []*pattern      // for opLike
}

// manyValues is the greatest number of values to be compared one by one.
const manyValues = 8

// add adds a value. The error is an *Error.
func (t *term) add(value string) error {
	limit := maxValues
	if t.op.compares() {
		limit = manyValues
	}
	if len(t.values) == limit {
		return Errorf(t.name, "a filter has at most %d values", limit)
	}
	switch t.op {
	case opContains, opStartsWith, opEndsWith, opSearch:
		t.folded = append(t.folded, AppendFolded(nil, []byte(value)))
		if raw := newRawText(t.folded[len(t.folded)-1]); len(raw.text) > len(t.raw.text) {
			t.raw = raw
		}
	case opLike:
		p, err := compilePattern(t.name, value)
		if err != nil {
			return err
		}
		t.patterns = append(t.patterns, p)
	case opExists:
		if value != "true" && value != "false" {
			return Errorf(t.name, "exists must be true or false")
		}
	}
	o := newOperand(value)
	t.values = append(t.values, o)
	switch t.op {
	case opEq, opIn, opNe, opContains, opRefers:
		if t.keys == nil {
			t.keys = make(map[string]bool)
		}
		for _, k := range o.keys() {
			t.keys[k] = true
		}
	}
	return nil
}

// equalTo reports whether the scalar v equals one of the values.
func (t *term) equalTo(v jsontext.Value) bool {
	if len(t.values) > manyValues {
		return slices.ContainsFunc(EqualityKeys(v), func(k string) bool { return t.keys[k] })
	}
	return slices.ContainsFunc(t.values, func(o operand) bool { return o.equals(v) })
}

// orderedBy reports whether the scalar v is less or greater than all values, as the
// operator requires.
func (t *term) orderedBy(v jsontext.Value) bool {
	for _, o := range t.values {
		c, ok := o.order(v)
		if t.op == opLt || t.op == opLte {
			c = -c
		}
		if !ok || c < 0 || c == 0 && (t.op == opLt || t.op == opGt) {
			return false
		}
	}
	return true
}

// cost returns the most expensive operator of f, which is the largest.
func (f *filter) cost() operator {
	if f.term != nil {
		return f.term.op
	}
	most := opContains
	for _, p := range f.parts {
		most = max(most, p.cost())
	}
	return most
}
