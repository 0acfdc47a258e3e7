package database_test

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A naive database evaluates filters and sort keys on decoded JSON: without an
// index, one record after the other. It shares no code with the engine, and it
// has no parser: a naiveQuery is made as a value and printed for the engine.
type naive map[string][]any

// newNaive decodes a database.
func newNaive(database string) naive {
	d := json.NewDecoder(strings.NewReader(database))
	d.UseNumber()
	var top map[string]any
	if err := d.Decode(&top); err != nil {
		panic(err)
	}
	n := make(naive)
	for name, v := range top {
		if list, ok := v.([]any); ok {
			n[name] = list
		}
	}
	return n
}

// A naiveQuery selects the records that pass all filters, in the order of the
// keys.
type naiveQuery struct {
	filters []naiveFilter
	keys    []naiveKey
}

// A naiveFilter compares the value of a member with values.
type naiveFilter struct {
	member string
	op     string
	values []string
	form   int // how it is spelled: member:op, member_op, or in _where
}

type naiveKey struct {
	member     string
	descending bool
}

var naiveOps = []string{"eq", "ne", "lt", "gt", "in", "contains", "like"}

// String returns the query as a client sends it.
func (q naiveQuery) String() string {
	var parts, members, orders []string
	add := func(name, value string) { parts = append(parts, url.QueryEscape(name)+"="+url.QueryEscape(value)) }
	for _, f := range q.filters {
		switch {
		case f.form == 2 && f.op == "in":
			where, _ := json.Marshal(map[string]any{f.member: map[string]any{f.op: f.values}})
			add("_where", string(where))
		case f.form == 2 && len(f.values) == 1:
			where, _ := json.Marshal(map[string]any{f.member: map[string]any{f.op: f.values[0]}})
			add("_where", string(where))
		default:
			for _, v := range f.values {
				add(f.member+[]string{":", "_", ":"}[f.form]+f.op, v)
			}
		}
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
		f := naiveFilter{member: pick(rnd, members...), op: pick(rnd, naiveOps...), form: rnd.IntN(3)}
		for range 1 + rnd.IntN(2) {
			v := value()
			if _, err := regexp.Compile(v); err != nil && f.op == "like" {
				v = "a"
			}
			f.values = append(f.values, v)
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

// answer returns the records of a collection that q selects and that are
// wanted.
func (n naive) answer(collection string, q naiveQuery, wanted func(record any) bool) []any {
	found := []any{}
	for _, r := range n[collection] {
		fails := func(f naiveFilter) bool {
			v, has := n.at(collection, r, f.member)
			return !has || !f.holds(v)
		}
		if wanted(r) && !slices.ContainsFunc(q.filters, fails) {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b any) int {
		for _, k := range q.keys {
			x, _ := n.at(collection, a, k.member)
			y, _ := n.at(collection, b, k.member)
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

// at returns the value of a member of a record, or at a path with dots where no
// record has a member of that name.
func (n naive) at(collection string, record any, name string) (v any, has bool) {
	path := []string{name}
	if !slices.ContainsFunc(n[collection], func(r any) bool {
		m, _ := r.(map[string]any)
		_, has := m[name]
		return has
	}) {
		path = strings.Split(name, ".")
	}
	v = record
	if _, ok := v.(map[string]any); !ok {
		return nil, false
	}
	for _, name := range path {
		switch at := v.(type) {
		case map[string]any:
			if v, has = at[name]; !has {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// holds reports whether a value passes. An array passes if an element does.
func (f naiveFilter) holds(v any) bool {
	candidates := []any{v}
	list, isList := v.([]any)
	if isList {
		candidates = list
	}
	some := func(passes func(c any, want string) bool) bool {
		return slices.ContainsFunc(candidates, func(c any) bool {
			return slices.ContainsFunc(f.values, func(want string) bool { return passes(c, want) })
		})
	}
	switch f.op {
	case "eq", "in":
		return some(naiveEqual)
	case "ne":
		return v != nil && !some(naiveEqual)
	case "contains":
		return some(func(c any, want string) bool {
			s, ok := c.(string)
			return ok && regexp.MustCompile(`(?is)`+regexp.QuoteMeta(want)).MatchString(s) || isList && naiveEqual(c, want)
		})
	case "like":
		return some(func(c any, want string) bool {
			s, ok := naiveText(c)
			return ok && c != nil && regexp.MustCompile("(?i)"+want).MatchString(s)
		})
	}
	return slices.ContainsFunc(candidates, func(c any) bool { // lt and gt hold for all values
		return !slices.ContainsFunc(f.values, func(want string) bool {
			order, ok := naiveCompare(c, want)
			return !ok || f.op == "lt" && order >= 0 || f.op == "gt" && order <= 0
		})
	})
}

// naiveCompare compares a number or a text with a value of a query.
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

// naiveText returns a scalar as text.
func naiveText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	case nil:
		return "null", true
	}
	return "", false
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?0*[0-9]{1,4})?$`)

func naiveNumber(s string) (*big.Rat, bool) {
	if !jsonNumber.MatchString(s) {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

func naiveEqual(v any, want string) bool {
	if n, ok := v.(json.Number); ok {
		order, ok := naiveCompare(n, want)
		return ok && order == 0
	}
	s, ok := naiveText(v)
	return ok && s == want
}

// naiveOrder orders values for _sort: numbers, texts, booleans, arrays and
// objects, then null and what is missing.
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
	s, _ := naiveText(b)
	c, _ := naiveCompare(a, s)
	return c
}

// naiveID returns the id that a member of a record carries, as text.
func naiveID(r any, member string) (string, bool) {
	m, _ := r.(map[string]any)
	switch v := m[member].(type) {
	case string:
		return v, v != ""
	case json.Number:
		return v.String(), true
	}
	return "", false
}
