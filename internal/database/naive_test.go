package database_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// A naive database evaluates on decoded JSON what the engine answers from
// indexes: equality, ranges and sort keys. It shares no code with the engine, and
// it has no parser: a naiveQuery is printed for the engine.
type naive map[string][]any

func newNaive(t *testing.T, database string) naive {
	t.Helper()
	n := make(naive)
	for name, v := range decoded(t, database).(map[string]any) {
		n[name], _ = v.([]any)
	}
	return n
}

// A naiveQuery selects the records that pass all filters and sorts them by keys.
type naiveQuery struct {
	filters []naiveFilter
	keys    []naiveKey
}

// A naiveFilter compares the value of a member with values: eq and in with any of
// them, lt and gt with all.
type naiveFilter struct {
	member, op string
	values     []string
	form       string // of the parameter: member:op, member_op or _where
}

type naiveKey struct {
	member     string
	descending bool
}

// String returns the query as a client sends it.
func (q naiveQuery) String() string {
	var parts, members, orders []string
	add := func(name, value string) { parts = append(parts, url.QueryEscape(name)+"="+url.QueryEscape(value)) }
	for _, f := range q.filters {
		if f.form != "_where" {
			for _, v := range f.values {
				add(f.member+f.form+f.op, v)
			}
			continue
		}
		var value any = f.values[0]
		if f.op == "in" {
			value = f.values
		}
		where, _ := json.Marshal(map[string]any{f.member: map[string]any{f.op: value}})
		add("_where", string(where))
	}
	for _, k := range q.keys {
		members = append(members, k.member)
		orders = append(orders, map[bool]string{false: "asc", true: "desc"}[k.descending])
	}
	if len(members) > 0 {
		add("_sort", strings.Join(members, ","))
		add("_order", strings.Join(orders, ","))
	}
	return strings.Join(parts, "&")
}

// randomNaive returns a query on some of these members.
func randomNaive(rnd *rand.Rand, members []string, value func() string) (q naiveQuery) {
	seen := make(map[string]bool)
	for range rnd.IntN(4) {
		f := naiveFilter{member: pick(rnd, members...), op: pick(rnd, "eq", "in", "lt", "gt"), form: pick(rnd, ":", "_", "_where")}
		f.values = []string{value()}
		if rnd.IntN(2) == 0 && (f.form != "_where" || f.op == "in") {
			f.values = append(f.values, value())
		}
		if key := f.member + " " + f.op; !seen[key] { // repeats are alternatives
			seen[key] = true
			q.filters = append(q.filters, f)
		}
	}
	for range rnd.IntN(3) {
		q.keys = append(q.keys, naiveKey{member: pick(rnd, members...), descending: rnd.IntN(2) == 0})
	}
	return q
}

// answer returns the records of a collection that are wanted and that q selects.
func (n naive) answer(collection string, q naiveQuery, wanted func(record any) bool) []any {
	found := []any{}
	for _, r := range n[collection] {
		fails := func(f naiveFilter) bool {
			if f.op == "lt" || f.op == "gt" { // an empty field of a form is no condition
				f.values = slices.DeleteFunc(slices.Clone(f.values), func(v string) bool { return v == "" })
				if len(f.values) == 0 {
					return false
				}
			}
			v, has := n.at(collection, r, f.member)
			return !has || !f.holds(v)
		}
		if wanted(r) && !slices.ContainsFunc(q.filters, fails) {
			found = append(found, r)
		}
	}
	mixed := make([]bool, len(q.keys))
	for i, k := range q.keys {
		numbers, numerals := false, false
		for _, r := range found {
			v, _ := n.at(collection, r, k.member)
			switch v := v.(type) {
			case json.Number:
				numbers = true
			case string:
				_, ok := naiveNumber(v)
				numerals = numerals || ok
			}
		}
		mixed[i] = numbers && numerals
	}
	slices.SortStableFunc(found, func(a, b any) int {
		for i, k := range q.keys {
			x, _ := n.at(collection, a, k.member)
			y, _ := n.at(collection, b, k.member)
			if mixed[i] {
				x = asNumber(x)
				y = asNumber(y)
			}
			c := naiveOrder(x, y)
			if k.descending {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return found
}

// asNumber returns the number that a string spells, or the value.
func asNumber(v any) any {
	s, _ := v.(string)
	if _, ok := naiveNumber(s); ok {
		return json.Number(s)
	}
	return v
}

// at returns the value of a field of a record. If no record has a member of that
// name, the name is a path with dots.
func (n naive) at(collection string, record any, name string) (v any, has bool) {
	path := []string{name}
	if !slices.ContainsFunc(n[collection], func(r any) bool {
		m, _ := r.(map[string]any)
		_, has := m[name]
		return has
	}) {
		path = strings.Split(name, ".")
	}
	v, has = record.(map[string]any)
	for i, name := range path {
		list, isList := v.([]any)
		if at, err := strconv.Atoi(name); isList && i > 0 && err == nil && at < len(list) {
			v = list[at]
			continue
		}
		m, _ := v.(map[string]any)
		if v, has = m[name]; !has {
			return nil, false
		}
	}
	return v, has
}

// holds reports whether a value, or an element of an array, passes.
func (f naiveFilter) holds(v any) bool {
	candidates, isList := v.([]any)
	if !isList {
		candidates = []any{v}
	}
	return slices.ContainsFunc(candidates, func(c any) bool {
		if f.op == "eq" || f.op == "in" {
			return slices.ContainsFunc(f.values, func(want string) bool { return naiveEqual(c, want) })
		}
		return !slices.ContainsFunc(f.values, func(want string) bool {
			order, ok := naiveCompare(c, want)
			return !ok || f.op == "lt" && order >= 0 || f.op == "gt" && order <= 0
		})
	})
}

func naiveEqual(v any, want string) bool {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v) == want
	case nil:
		return want == "null"
	}
	order, ok := naiveCompare(v, want)
	return ok && order == 0
}

// naiveCompare compares a number or a string with a value of a query.
func naiveCompare(v any, want string) (order int, ok bool) {
	switch v := v.(type) {
	case string:
		return slices.Compare(utf16.Encode([]rune(v)), utf16.Encode([]rune(want))), true
	case json.Number:
		if w, ok := naiveNumber(want); ok {
			n, _ := naiveNumber(v.String())
			return n.Cmp(w), true
		}
	}
	return 0, false
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?0*[0-9]{1,4})?$`)

func naiveNumber(s string) (*big.Rat, bool) {
	if !jsonNumber.MatchString(s) {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// naiveOrder compares values for _sort: numbers, strings, false, true, arrays and
// objects, then null and missing values.
func naiveOrder(a, b any) int {
	rank := func(v any) int {
		switch v := v.(type) {
		case json.Number:
			return 0
		case string:
			return 1
		case bool:
			return map[bool]int{false: 2, true: 3}[v]
		case nil:
			return 5
		}
		return 4
	}
	if c := rank(a) - rank(b); c != 0 {
		return c
	}
	c, _ := naiveCompare(a, fmt.Sprint(b))
	return c
}
