package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pickup/internal/rawjson"
)

// A parser makes a Query.
type parser struct {
	names  Names
	q      Query
	byKey  map[string]*term  // by operator and path
	sort   []string          // as in _sort
	order  []string          // as in _order
	paging map[string]string // the values of the parameters for paging
	embeds int               // number of paths in _embed and _expand
	parts  int               // number of conditions, at every depth
}

// newParser returns a parser that adds to q.
func newParser(q *Query, names Names) *parser {
	p := &parser{
		names: names, q: *q,
		byKey: make(map[string]*term), paging: make(map[string]string),
	}
	p.q.filter.parts = slices.Clone(q.filter.parts)
	p.q.Named = slices.Clone(q.Named)
	return p
}

// parameter parses one parameter of a URL.
func (p *parser) parameter(name, value string) error {
	switch name {
	case "_where":
		if value == "" {
			return nil
		}
		return p.where([]byte(value))
	case "_sort":
		p.sort = append(p.sort, strings.Split(value, ",")...)
		return nil
	case "_order":
		p.order = append(p.order, strings.Split(value, ",")...)
		return nil
	case "_page", "_per_page", "_limit", "_start", "_end":
		if p.paging[name] == "" {
			p.paging[name] = value
		}
		return nil
	case "_embed", "_expand", "_embed[]", "_expand[]":
		return p.embed(strings.TrimSuffix(name, "[]"), value)
	case "_fields":
		for field := range strings.SplitSeq(value, ",") {
			if field == "" {
				continue
			}
			if p.q.fields == nil {
				p.q.fields = new(fields)
			}
			p.q.fields.add(p.path(name, field))
		}
		return nil
	}
	return p.filter(name, value)
}

// path returns the path that name means in a parameter.
func (p *parser) path(parameter, name string) Path {
	to := pathOf(p.names, name)
	p.q.Named = append(p.q.Named, Named{parameter, name, to})
	return to
}

// filter parses a filter.
func (p *parser) filter(name, value string) error {
	test := name
	if list, ok := strings.CutSuffix(name, "[]"); ok && !p.names.Has(name) {
		test = list // id[]=1&id[]=2 is how axios spells id=1&id=2
	}
	op, to, err := p.test(test)
	if err != nil {
		return err
	}
	if value == "" && (op.compares() || op == opSearch) {
		return nil
	}
	key := strconv.Itoa(int(op)) + rawjson.Pointer(to...)
	t := p.byKey[key]
	if t == nil {
		if t, err = p.count(&term{name: name, path: to, op: op}); err != nil {
			return err
		}
		p.q.filter.parts = append(p.q.filter.parts, &filter{term: t})
		p.byKey[key] = t
	}
	values := []string{value}
	if t.op == opIn {
		values = strings.Split(value, ",")
		for i, v := range values { // json-server v1 accepts "1, 2"
			values[i] = strings.TrimSpace(v)
		}
	}
	for _, v := range values {
		if err := t.add(v); err != nil {
			return err
		}
	}
	return nil
}

// count adds t to the terms of the query.
func (p *parser) count(t *term) (*term, error) {
	if p.q.terms++; p.q.terms > maxTerms {
		return nil, &Error{Parameter: t.name, Detail: fmt.Sprintf("a query has at most %d different filters", maxTerms)}
	}
	return t, nil
}

// test parses the name of a filter.
func (p *parser) test(name string) (operator, Path, error) {
	if name == "q" {
		return opSearch, nil, nil
	}
	occurs := func() bool { return p.names.Has(name) }
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		if op, ok := operatorCalled(name[i+1:]); ok {
			return op, p.path(name, name[:i]), nil
		}
		if !occurs() {
			return 0, nil, UnknownOperator(name, name[i+1:])
		}
	}
	if i := strings.LastIndexByte(name, '_'); i >= 0 && !occurs() {
		if i > 0 {
			if op, ok := operatorCalled(name[i+1:]); ok {
				return op, p.path(name, name[:i]), nil
			}
		}
		if name[0] == '_' {
			return 0, nil, &Error{Parameter: name, Detail: "there is no such parameter, and no record has a field of this name" +
				DidYouMean(name, Functions)}
		}
	}
	return opEq, p.path(name, name), nil
}

// embed parses the value of _embed or _expand.
func (p *parser) embed(parameter, value string) error {
	for names := range strings.SplitSeq(value, ",") {
		if names == "" {
			continue
		}
		levels := strings.Split(names, ".")
		if len(levels) > maxEmbedLevels {
			return &Error{Parameter: parameter, Detail: fmt.Sprintf("records are embedded at most %d levels deep", maxEmbedLevels)}
		}
		if p.embeds++; p.embeds > maxEmbeds {
			return &Error{Parameter: parameter, Detail: fmt.Sprintf("at most %d relations are embedded", maxEmbeds)}
		}
		p.q.Embeds = addEmbed(p.q.Embeds, parameter, levels)
	}
	return nil
}

// addEmbed adds a path of relations, each within the one before.
func addEmbed(list []*Embed, parameter string, names []string) []*Embed {
	if len(names) == 0 {
		return list
	}
	expand := parameter == "_expand"
	for _, e := range list {
		if e.Name == names[0] && e.Expand == expand {
			e.Inner = addEmbed(e.Inner, parameter, names[1:])
			return list
		}
	}
	return append(list, &Embed{parameter, names[0], expand, addEmbed(nil, parameter, names[1:])})
}

// query returns the finished query.
func (p *parser) query() (*Query, error) {
	if err := p.sorting(); err != nil {
		return nil, err
	}
	if err := p.page(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.q.filter.parts, func(a, b *filter) int { return cmp.Compare(a.cost(), b.cost()) })
	return &p.q, nil
}

// EmbedsAt reports whether a path begins in a relation that q embeds.
func (q *Query) EmbedsAt(p Path) bool {
	return len(p) > 0 && slices.ContainsFunc(q.Embeds, func(e *Embed) bool { return e.Name == p[0] })
}

// sorting parses _sort and _order.
func (p *parser) sorting() error {
	for i, name := range p.sort {
		if name == "" {
			continue
		}
		if len(p.q.Sort) == maxSort {
			return &Error{Parameter: "_sort", Detail: fmt.Sprintf("a list is sorted by at most %d fields", maxSort)}
		}
		var k SortKey
		if rest, ok := strings.CutPrefix(name, "-"); ok && !p.names.Has(name) {
			name, k.Descending = rest, true
		}
		if i < len(p.order) && strings.EqualFold(p.order[i], "desc") {
			k.Descending = true
		}
		k.Path = p.path("_sort", name)
		p.q.Sort = append(p.q.Sort, k)
	}
	for _, o := range p.order {
		if o != "" && !strings.EqualFold(o, "asc") && !strings.EqualFold(o, "desc") {
			return &Error{Parameter: "_order", Detail: fmt.Sprintf("%q is not asc or desc; give one for each field of _sort, separated by commas", rawjson.Shorten(o))}
		}
	}
	return nil
}

// page parses the parameters for paging.
func (p *parser) page() error {
	n := make(map[string]int)
	for _, name := range []string{"_page", "_per_page", "_limit", "_start", "_end"} {
		value := p.paging[name]
		if value == "" {
			continue
		}
		i, ok := truncated(value)
		switch {
		case name == "_page" && (!ok || i < 1):
			i = 1
		case !ok:
			return &Error{Parameter: name, Detail: fmt.Sprintf("%q is not a number", rawjson.Shorten(value))}
		case name == "_per_page" && i < 1, name == "_limit" && i < 1 && p.paging["_page"] != "":
			return &Error{Parameter: name, Detail: "it must be at least 1"}
		case name == "_limit" && i < 0:
			return &Error{Parameter: name, Detail: "it must not be negative"}
		}
		n[name] = i
	}
	has := func(name string) bool { _, ok := n[name]; return ok }
	g := &p.q.Paging
	switch {
	case has("_page"):
		*g = Paging{Dialect: ByPage, page: n["_page"], Size: defaultSize}
		if has("_limit") {
			g.Size, g.Parameter = n["_limit"], "_limit"
		} else if has("_per_page") {
			g.Dialect, g.Size, g.Parameter = Envelope, n["_per_page"], "_per_page"
		}
	case has("_end"):
		*g = Paging{Dialect: Range, start: n["_start"], end: n["_end"], hasEnd: true, Parameter: "_end"}
		if g.start >= 0 {
			g.Size = max(0, g.end-g.start)
		}
	case has("_start"), has("_limit"):
		*g = Paging{Dialect: Range, start: n["_start"], Size: n["_limit"], hasLimit: has("_limit")}
		if g.hasLimit {
			g.Parameter = "_limit"
		}
	}
	return nil
}

// truncated parses a number of any size and drops its fraction, as both versions
// of json-server do.
func truncated(s string) (int, bool) {
	if !isNumber([]byte(s)) {
		return 0, false
	}
	f, _ := strconv.ParseFloat(s, 64) // infinite if out of range
	const most = 1<<31 - 1
	return int(max(-most, min(most, f))), true
}
