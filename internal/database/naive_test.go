package database_test

import (
	"encoding/json"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
)

// A naive evaluates queries as the table of the contract reads: on decoded
// JSON, without an index, one record after the other, every list whole. It
// shares no code with the engine but the names of singulars.
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

var naiveOps = []string{"eq", "ne", "lt", "lte", "gt", "gte", "in", "contains", "startsWith", "endsWith", "like", "exists"}

// A naiveTest is a filter: it has all of its values at hand.
type naiveTest struct {
	name, op string
	path     []string
	values   []string
}

// answer returns the answer to a query, decoded, and how many there are in
// all. It reports false for a query that is to be refused.
func (n naive) answer(collection, rawQuery string) (body any, total int, ok bool) {
	return n.answerOf(collection, rawQuery, func(any) bool { return true })
}

// answerOf is answer for those records of the collection alone that are wanted.
func (n naive) answerOf(collection, rawQuery string, wanted func(record any) bool) (body any, total int, ok bool) {
	occurs := func(name string) bool {
		for _, r := range n[collection] {
			if m, isObject := r.(map[string]any); isObject {
				if _, has := m[name]; has {
					return true
				}
			}
		}
		return false
	}
	pathOf := func(name string) []string {
		if occurs(name) {
			return []string{name}
		}
		return naivePath(name)
	}

	var tests []*naiveTest
	var wheres []any
	var sort, order, fields []string
	var embeds []string
	paging := make(map[string]string)
	for part := range strings.SplitSeq(rawQuery, "&") {
		if part == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err1 := url.QueryUnescape(rawName)
		value, err2 := url.QueryUnescape(rawValue)
		if err1 != nil || err2 != nil || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, 0, false
		}
		t := &naiveTest{name: name, op: "eq"}
		switch name {
		case "_":
			continue
		case "q":
			if value == "" {
				continue
			}
			t.op = "q"
		case "_where":
			if value == "" {
				continue
			}
			var where any
			d := json.NewDecoder(strings.NewReader(value))
			d.UseNumber()
			if d.Decode(&where) != nil || !jsontext.Value(value).IsValid() {
				return nil, 0, false
			}
			if where == nil {
				continue
			}
			if !n.readable(where, false) {
				return nil, 0, false
			}
			wheres = append(wheres, where)
			continue
		case "_sort":
			sort = append(sort, strings.Split(value, ",")...)
			continue
		case "_order":
			order = append(order, strings.Split(value, ",")...)
			continue
		case "_fields":
			fields = append(fields, strings.Split(value, ",")...)
			continue
		case "_embed", "_expand", "_embed[]", "_expand[]":
			name = strings.TrimSuffix(name, "[]")
			for e := range strings.SplitSeq(value, ",") {
				if strings.Contains(e, ".") {
					panic("the naive evaluator embeds one level")
				}
				if e != "" {
					embeds = append(embeds, name+" "+e)
				}
			}
			continue
		case "_page", "_per_page", "_limit", "_start", "_end":
			if paging[name] == "" {
				paging[name] = value
			}
			continue
		default:
			if list, ok := strings.CutSuffix(name, "[]"); ok && !occurs(name) {
				name = list
			}
			if name == "q" && value == "" {
				continue
			} else if name == "q" {
				t.op = "q"
				break
			}
			t.path = pathOf(name)
			base, op, colon := cutLast(name, ":")
			switch {
			case colon && slices.Contains(naiveOps, op):
				t.op, t.path = op, pathOf(base)
			case occurs(name):
			case colon:
				return nil, 0, false
			default:
				if base, op, ok := cutLast(name, "_"); ok && base != "" && slices.Contains(naiveOps, op) {
					t.op, t.path = op, pathOf(base)
				} else if strings.HasPrefix(name, "_") {
					return nil, 0, false
				}
			}
		}
		values := []string{value}
		if t.op == "in" {
			values = strings.Split(value, ",")
			for i, v := range values {
				values[i] = strings.TrimSpace(v)
			}
		}
		i := slices.IndexFunc(tests, func(o *naiveTest) bool { return o.op == t.op && slices.Equal(o.path, t.path) })
		if i < 0 {
			i = len(tests)
			tests = append(tests, t)
		}
		tests[i].values = append(tests[i].values, values...)
		if t.op == "exists" && value != "true" && value != "false" {
			return nil, 0, false
		}
		if t.op == "like" {
			if _, err := regexp.Compile(value); err != nil || len(value) > 256 {
				return nil, 0, false
			}
		}
	}

	var found []any
	for _, r := range n[collection] {
		full := n.embed(collection, r, embeds)
		keep := wanted(r)
		for _, t := range tests {
			v := full
			if t.op == "q" {
				v = r
			}
			keep = keep && t.holds(v)
		}
		for _, w := range wheres {
			keep = keep && naiveWhere(w.(map[string]any), full, nil, pathOf)
		}
		if keep {
			found = append(found, full)
		}
	}

	var keys []func(v any) any
	var descending []bool
	for i, name := range sort {
		if name == "" {
			continue
		}
		down := i < len(order) && strings.EqualFold(order[i], "desc")
		if strings.HasPrefix(name, "-") && !occurs(name) {
			name, down = name[1:], true
		}
		p := pathOf(name)
		keys = append(keys, func(v any) any { v, _ = naiveWalk(v, p); return v })
		descending = append(descending, down)
	}
	for _, o := range order {
		if o != "" && !strings.EqualFold(o, "asc") && !strings.EqualFold(o, "desc") {
			return nil, 0, false
		}
	}
	slices.SortStableFunc(found, func(a, b any) int {
		for i, key := range keys {
			if c := naiveOrder(key(a), key(b)); c != 0 {
				if descending[i] {
					return -c
				}
				return c
			}
		}
		return 0
	})

	total = len(found)
	page, isPage, ok := naivePage(paging, total)
	if !ok {
		return nil, 0, false
	}
	found = found[page.from:page.to]
	out := []any{}
	var paths [][]string
	for _, f := range fields {
		if f != "" {
			paths = append(paths, pathOf(f))
		}
	}
	for _, r := range found {
		if len(paths) > 0 {
			if _, isObject := r.(map[string]any); isObject {
				r, _ = naiveProject(r, paths)
			}
		}
		out = append(out, r)
	}
	if !isPage {
		return out, total, true
	}
	number := func(i int, exists bool) any {
		if !exists {
			return nil
		}
		return json.Number(strconv.Itoa(i))
	}
	return map[string]any{
		"first": number(1, true), "last": number(page.pages, true), "pages": number(page.pages, true),
		"prev": number(page.page-1, page.page > 1), "next": number(page.page+1, page.page < page.pages),
		"items": number(total, true), "data": out,
	}, total, true
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

func naivePath(name string) []string {
	var p []string
	for _, part := range strings.Split(name, ".") {
		pieces := strings.Split(part, "[")
		p = append(p, pieces[0])
		for _, piece := range pieces[1:] {
			p = append(p, strings.TrimSuffix(piece, "]"))
		}
	}
	return p
}

func naiveWalk(v any, p []string) (any, bool) {
	if _, ok := v.(map[string]any); !ok { // a record has members
		return nil, false
	}
	for _, name := range p {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || strconv.Itoa(i) != name || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

type naiveWindow struct{ from, to, page, pages int }

func naivePage(paging map[string]string, total int) (w naiveWindow, envelope, ok bool) {
	n := make(map[string]int)
	for name, s := range paging {
		if s == "" {
			continue
		}
		r, ok := naiveNumber(s)
		i := 1
		if ok {
			q := new(big.Int).Quo(r.Num(), r.Denom())
			i = int(max(-1<<40, min(1<<40, q.Int64())))
			if !q.IsInt64() {
				i = q.Sign() << 40
			}
		}
		switch {
		case name == "_page":
			i = max(i, 1)
		case !ok, name == "_limit" && i < 0, name == "_limit" && i == 0 && paging["_page"] != "", name == "_per_page" && i < 1:
			return w, false, false
		}
		n[name] = i
	}
	at := func(i int) int {
		if i < 0 {
			i += total
		}
		return max(0, min(i, total))
	}
	limit, hasLimit := n["_limit"]
	if page, ok := n["_page"]; ok {
		size := 10
		if per, ok := n["_per_page"]; ok {
			size, envelope = per, true
		}
		if hasLimit {
			size, envelope = limit, false
		}
		pages := (total + size - 1) / size
		if envelope {
			pages = max(1, pages)
			page = min(page, pages)
		}
		w = naiveWindow{page: page, pages: pages}
		for range min(page-1, total) {
			w.from = min(total, w.from+size)
		}
		w.to = min(total, w.from+size)
		return w, envelope, true
	}
	w = naiveWindow{from: at(n["_start"]), to: total}
	if end, ok := n["_end"]; ok {
		w.to = max(w.from, at(end))
	} else if hasLimit {
		w.to = min(total, w.from+limit)
	}
	return w, false, true
}

// naiveProject keeps what lies on one of the paths.
func naiveProject(v any, paths [][]string) (any, bool) {
	below := make(map[string][][]string)
	for _, p := range paths {
		if len(p) == 0 {
			return v, true
		}
		below[p[0]] = append(below[p[0]], p[1:])
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any)
		for name, e := range v {
			if part, ok := naiveProject(e, below[name]); ok && below[name] != nil {
				out[name] = part
			}
		}
		return out, true
	case []any:
		out := []any{}
		byIndex := false
		for name := range below {
			i, err := strconv.Atoi(name)
			byIndex = byIndex || err == nil && strconv.Itoa(i) == name && i >= 0
		}
		for i, e := range v {
			inner := paths
			if byIndex {
				if inner = below[strconv.Itoa(i)]; inner == nil {
					continue
				}
			}
			if part, ok := naiveProject(e, inner); ok {
				out = append(out, part)
			}
		}
		return out, true
	}
	return nil, false
}

// embed puts children or the parent into a record.
func (n naive) embed(collection string, r any, embeds []string) any {
	m, ok := r.(map[string]any)
	if !ok || len(embeds) == 0 {
		return r
	}
	out := make(map[string]any)
	for name, v := range m {
		out[name] = v
	}
	for _, e := range embeds {
		function, e, _ := strings.Cut(e, " ")
		list, isCollection := n[e]
		if isCollection && !(function == "_expand" && database.Singular(e) == e) {
			children := []any{}
			for _, c := range list {
				of, ok := naiveID(c, database.Singular(collection)+"Id")
				if id, has := naiveID(r, "id"); ok && has && id == of {
					children = append(children, c)
				}
			}
			out[e] = children
			continue
		}
		for parents, list := range n {
			if database.Singular(parents) != e {
				continue
			}
			for _, p := range slices.Backward(list) { // the first one stays
				id, ok := naiveID(p, "id")
				if of, has := naiveID(r, e+"Id"); ok && has && id == of {
					out[e] = p
				}
			}
		}
	}
	return out
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
