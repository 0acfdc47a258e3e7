package database_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// holds reports whether a record passes.
func (t *naiveTest) holds(r any) bool {
	if t.op == "q" {
		for _, text := range t.values {
			if !naiveSearch(r, text) {
				return false
			}
		}
		return true
	}
	v, has := naiveWalk(r, t.path)
	candidates := []any{v}
	list, isList := v.([]any)
	if isList {
		candidates = list
	}
	equal := func() bool {
		return slices.ContainsFunc(candidates, func(c any) bool {
			return slices.ContainsFunc(t.values, func(want string) bool { return naiveEqual(c, want) })
		})
	}
	switch t.op {
	case "exists":
		return !slices.Contains(t.values, strconv.FormatBool(v == nil))
	case "ne":
		return v != nil && !equal()
	}
	if !has {
		return false
	}
	return slices.ContainsFunc(candidates, func(c any) bool {
		some := func(passes func(string) bool) bool { return slices.ContainsFunc(t.values, passes) }
		every := func(passes func(string) bool) bool {
			return !slices.ContainsFunc(t.values, func(s string) bool { return !passes(s) })
		}
		s, isString := c.(string)
		ignoringCase := func(before, after string) func(string) bool {
			return func(want string) bool {
				return isString && regexp.MustCompile(`(?is)`+before+regexp.QuoteMeta(want)+after).MatchString(s)
			}
		}
		switch t.op {
		case "eq", "in":
			return some(func(want string) bool { return naiveEqual(c, want) })
		case "contains":
			return some(ignoringCase("", "")) || isList && some(func(want string) bool { return naiveEqual(c, want) })
		case "startsWith":
			return every(ignoringCase("^", ""))
		case "endsWith":
			return every(ignoringCase("", `\z`))
		case "like":
			s, ok := naiveText(c)
			return ok && c != nil && some(func(p string) bool { return regexp.MustCompile("(?i)" + p).MatchString(s) })
		}
		return every(func(want string) bool { // lt, lte, gt, gte
			var order int
			switch c := c.(type) {
			case string:
				order = slices.Compare(utf16.Encode([]rune(c)), utf16.Encode([]rune(want)))
			case json.Number:
				w, ok := naiveNumber(want)
				if !ok {
					return false
				}
				n, _ := naiveNumber(c.String())
				order = n.Cmp(w)
			default:
				return false
			}
			return order < 0 && t.op[0] == 'l' || order > 0 && t.op[0] == 'g' || order == 0 && strings.HasSuffix(t.op, "e")
		})
	})
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
		a, _ := naiveNumber(n.String())
		b, ok := naiveNumber(want)
		return ok && a.Cmp(b) == 0
	}
	s, ok := naiveText(v)
	return ok && s == want
}

func naiveSearch(v any, text string) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if naiveSearch(e, text) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return naiveSearch(e, text) })
	case nil:
		return false
	}
	s, _ := naiveText(v)
	return regexp.MustCompile(`(?is)` + regexp.QuoteMeta(text)).MatchString(s)
}

// naiveOrder orders values for _sort.
func naiveOrder(a, b any) int {
	rank := func(v any) int {
		switch v.(type) {
		case json.Number:
			return 0
		case string:
			return 1
		case bool:
			return 2
		case nil:
			return 4
		}
		return 3
	}
	if rank(a) != rank(b) {
		return rank(a) - rank(b)
	}
	switch a := a.(type) {
	case json.Number:
		x, _ := naiveNumber(a.String())
		y, _ := naiveNumber(b.(json.Number).String())
		return x.Cmp(y)
	case string:
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b.(string))))
	case bool:
		switch {
		case a == b.(bool):
			return 0
		case a:
			return 1
		}
		return -1
	}
	return 0
}

// readable reports whether a condition of _where is well formed; within says
// that it is one on a member.
func (n naive) readable(v any, within bool) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for name, v := range m {
		_, isObject := v.(map[string]any)
		list, isList := v.([]any)
		switch {
		case name == "and" || name == "or":
			if !isList || slices.ContainsFunc(list, func(e any) bool { return !n.readable(e, within) }) {
				return false
			}
		case name == "not":
			if !n.readable(v, within) {
				return false
			}
		case within && slices.Contains(naiveOps, name):
			values := list
			if !isList {
				values = []any{v}
			} else if name != "in" {
				return false
			}
			for _, w := range values {
				s, scalar := naiveText(w)
				if !scalar || w == nil && name != "eq" && name != "ne" && name != "in" || name == "exists" && s != "true" && s != "false" {
					return false
				}
				if _, err := regexp.Compile(s); name == "like" && (err != nil || len(s) > 256) {
					return false
				}
			}
		case isObject:
			if !n.readable(v, true) {
				return false
			}
		case isList || within:
			return false
		}
	}
	return true
}

// naiveWhere reports whether a record passes a condition on what is at the path
// within.
func naiveWhere(where map[string]any, r any, within []string, pathOf func(string) []string) bool {
	for name, w := range where {
		inner, isObject := w.(map[string]any)
		list, isList := w.([]any)
		if !isList {
			list = []any{w}
		}
		p := pathOf(name)
		if len(within) > 0 {
			p = append(slices.Clone(within), naivePath(name)...)
		}
		t := naiveTest{op: "eq", path: p}
		passes := false
		switch {
		case name == "and" || name == "or":
			passes = name == "and"
			for _, e := range list {
				if naiveWhere(e.(map[string]any), r, within, pathOf) != passes {
					passes = !passes
					break
				}
			}
		case name == "not":
			passes = !naiveWhere(inner, r, within, pathOf)
		case isObject && !(len(within) > 0 && slices.Contains(naiveOps, name)):
			passes = naiveWhere(inner, r, p, pathOf)
		default:
			if len(within) > 0 {
				t.op, t.path = name, within
			}
			for _, v := range list {
				s, _ := naiveText(v)
				t.values = append(t.values, s)
			}
			passes = t.holds(r)
		}
		if !passes {
			return false
		}
	}
	return true
}
