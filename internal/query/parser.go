package query

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pickup/internal/rawjson"
)

// A parser makes a Query.
type parser struct {
	names  Names
	q      Query
	byKey  map[string]*term  // terms by operator and path
	sort   []string          // the fields of _sort
	order  []string          // the directions of _order
	paging map[string]string // the values of paging parameters
	embeds int               // the number of paths in _embed and _expand
	parts  int               // the number of conditions, at every depth
}

// pagingParameters lists the parameters for paging.
var pagingParameters = []string{"_page", "_per_page", "_limit", "_start", "_end"}

// newParser returns a parser that adds to q.
func newParser(q *Query, names Names) *parser {
	p := &parser{names: names, q: *q, byKey: make(map[string]*term), paging: make(map[string]string)}
	p.q.filter.parts = slices.Clone(q.filter.parts)
	p.q.Named = slices.Clone(q.Named)
	return p
}

// parameter parses a parameter of a URL.
func (p *parser) parameter(name, value string) error {
	if slices.Contains(pagingParameters, name) {
		p.paging[name] = cmp.Or(p.paging[name], value)
		return nil
	}
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
		test = list // axios spells id=1&id=2 as id[]=1&id[]=2
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
	p.q.terms++
	if p.q.terms > maxTerms {
		return nil, Errorf(t.name, "a query has at most %d different filters", maxTerms)
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
			return 0, nil, Errorf(name, "there is no such parameter, and no record has a field of this name%s",
				DidYouMean(name, Functions))
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
			return Errorf(parameter, "records are embedded at most %d levels deep", maxEmbedLevels)
		}
		p.embeds++
		if p.embeds > maxEmbeds {
			return Errorf(parameter, "at most %d relations are embedded", maxEmbeds)
		}
		p.q.Embeds = addEmbed(p.q.Embeds, parameter, levels)
	}
	return nil
}

// addEmbed adds a path of relations. Each relation is within the relation before.
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

// EmbedsAt reports whether a path starts in a relation that q embeds.
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
			return Errorf("_sort", "a list is sorted by at most %d fields", maxSort)
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
			return Errorf("_order", "%q is not asc or desc; give one for each field of _sort, separated by commas",
				rawjson.Shorten(o))
		}
	}
	return nil
}

// page parses the parameters for paging.
func (p *parser) page() error {
	n := make(map[string]int)
	for _, name := range pagingParameters {
		if p.paging[name] == "" {
			continue
		}
		i, err := p.pageNumber(name)
		if err != nil {
			return err
		}
		n[name] = i
	}
	page, hasPage := n["_page"]
	size, hasSize := n["_per_page"]
	limit, hasLimit := n["_limit"]
	start, hasStart := n["_start"]
	end, hasEnd := n["_end"]
	g := &p.q.Paging
	switch {
	case hasPage && hasLimit:
		*g = Paging{Dialect: ByPage, page: page, Size: limit, Parameter: "_limit"}
	case hasPage && hasSize:
		*g = Paging{Dialect: Envelope, page: page, Size: size, Parameter: "_per_page"}
	case hasPage:
		*g = Paging{Dialect: ByPage, page: page, Size: defaultSize}
	case hasEnd:
		*g = Paging{Dialect: Range, start: start, end: end, hasEnd: true, Parameter: "_end"}
		if start >= 0 {
			g.Size = max(0, end-start)
		}
	case hasLimit:
		*g = Paging{Dialect: Range, start: start, Size: limit, hasLimit: true, Parameter: "_limit"}
	case hasStart:
		*g = Paging{Dialect: Range, start: start}
	}
	return nil
}

// pageNumber parses the value of a paging parameter.
func (p *parser) pageNumber(name string) (int, error) {
	value := p.paging[name]
	i, ok := truncated(value)
	if name == "_page" {
		return max(1, i), nil
	}
	if !ok {
		return 0, Errorf(name, "%q is not a number", rawjson.Shorten(value))
	}
	if i < 1 && (name == "_per_page" || name == "_limit" && p.paging["_page"] != "") {
		return 0, Errorf(name, "it must be at least 1")
	}
	if i < 0 && name == "_limit" {
		return 0, Errorf(name, "it must not be negative")
	}
	return i, nil
}

// truncated parses a number of any size and drops the fraction, as both versions
// of json-server do.
func truncated(s string) (int, bool) {
	if !isNumber([]byte(s)) {
		return 0, false
	}
	f, _ := strconv.ParseFloat(s, 64) // infinite if out of range
	const most = 1<<31 - 1
	return int(max(-most, min(most, f))), true
}
