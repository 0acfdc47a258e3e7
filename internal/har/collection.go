package har

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/source"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A list is a collection, or an object as the only item.
type list struct {
	name   string
	object bool
	items  []*source.Item
	byID   map[string]*source.Item
	most   int          // maximum number of records in a page
	asked  []url.Values // queries of the requests
}

// findIDs sets IDMember, unless the options do.
func (r *Recording) findIDs(all []*entry) {
	if r.IDMember != "" {
		return
	}
	for _, r.IDMember = range []string{"id", "_id", "uuid", "id"} {
		if slices.ContainsFunc(all, func(e *entry) bool {
			records := slices.Collect(rawjson.Elements(r.unwrap(e.body)))
			return e.Response.Status == 200 && len(records) > 0 && r.distinct(records)
		}) {
			return
		}
	}
}

// plain matches valid names of collections and objects.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// A target is the collection or object of a response, with the records of the response.
type target struct {
	name    string
	object  bool
	records []jsontext.Value
	parent  string         // the field with the id of the parent; "": none
	id      jsontext.Value // of the parent
}

// add adds the records of a response to a collection, or adds an object, and returns the
// outcome. add returns "" if the response has no target.
func (r *Recording) add(e *entry) string {
	t := r.target(e)
	if t == nil || e.Response.Status != 200 || !r.canName(t.name) {
		return ""
	}
	if !t.object && !r.distinct(t.records) {
		return ""
	}

	l := r.list(t.name)
	if l == nil {
		l = &list{
			name:   t.name,
			object: t.object,
			byID:   make(map[string]*source.Item),
		}
		r.lists = append(r.lists, l)
	} else if l.object != t.object {
		return ""
	} else if e.isEmbedded() {
		return "left out: records of " + t.name + " with embedded records"
	}
	if t.object {
		l.put(e, "", t.records[0])
		return "the object " + t.name
	}

	if len(e.path) == 1 {
		l.asked = append(l.asked, e.url.Query())
		if e.isPage() && e.url.RawQuery != "" {
			l.most = max(l.most, len(t.records))
		}
	}
	for _, v := range t.records {
		l.put(e, r.id(v), t.withParent(v))
	}
	return "the collection " + t.name
}

// withParent returns a record with the id of the parent, if there is one.
func (t *target) withParent(record jsontext.Value) jsontext.Value {
	if t.parent == "" {
		return record
	}
	if _, ok := rawjson.Member(record, t.parent); ok {
		return record
	}
	return rawjson.SetMember(record, t.parent, string(t.id))
}

// id returns the id of a record, or "".
func (r *Recording) id(record jsontext.Value) string {
	id, _ := storage.ID(record, r.IDMember)
	return id
}

// target returns the target of a response: a collection or an object for /posts, a collection
// for /posts/1 and /posts/1/comments, otherwise nil.
func (r *Recording) target(e *entry) *target {
	body := r.unwrap(e.body)
	isList := body.Kind() == '['
	t := &target{name: e.path[len(e.path)-1], records: slices.Collect(rawjson.Elements(body))}
	if len(e.path) == 1 && isList {
		return t
	}
	if len(e.path) == 1 && e.url.RawQuery == "" && body.Kind() == '{' && r.wrapper(body) == "" {
		return &target{name: t.name, object: true, records: []jsontext.Value{body}}
	}
	if len(e.path) == 2 && r.id(body) == e.path[1] {
		return &target{name: e.path[0], records: []jsontext.Value{body}}
	}
	if len(e.path) != 3 || !isList {
		return nil
	}
	if r.list(t.name) == nil && len(t.records) == 0 {
		return nil
	}
	parents := r.list(e.path[0])
	if parents == nil {
		return nil
	}
	parent := parents.byID[e.path[1]]
	if parent == nil {
		return nil
	}
	t.parent = spell.Singular(parents.name) + "Id"
	t.id = rawjson.Get(parent.Value, r.IDMember)
	return t
}

// put adds a record, or merges the fields into a record with the same id.
func (l *list) put(e *entry, id string, v jsontext.Value) {
	if i := l.byID[id]; i != nil {
		i.Value = rawjson.MergeMembers(i.Value, v)
		return
	}
	i := &source.Item{Field: l.name, Whole: l.object, Value: v, At: e.at}
	l.byID[id] = i
	l.items = append(l.items, i)
}

// canName reports whether the database accepts a collection or an object of that name.
func (r *Recording) canName(name string) bool {
	return plain.MatchString(name) && name != "db" && (r.Refuses == nil || !r.Refuses(name))
}

// unwrap returns the list or the record in a body.
func (r *Recording) unwrap(body jsontext.Value) jsontext.Value {
	if v, ok := rawjson.Member(body, r.List); ok && v.Kind() == '[' {
		return v
	}
	if v, ok := rawjson.Member(body, r.Record); ok && v.Kind() == '{' {
		return v
	}
	return body
}

// list returns the collection or object with this name, or nil.
func (r *Recording) list(name string) *list {
	for _, l := range r.lists {
		if l.name == name {
			return l
		}
	}
	return nil
}

// distinct reports whether the values are records with distinct ids.
func (r *Recording) distinct(records []jsontext.Value) bool {
	seen := make(map[string]bool)
	for _, v := range records {
		id, ok := storage.ID(v, r.IDMember)
		if !ok || seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

// wrapper returns the end of a sentence about a field with a list of records in an object, or
// "".
func (r *Recording) wrapper(body jsontext.Value) string {
	for name, v := range rawjson.Members(body) {
		if records := slices.Collect(rawjson.Elements(v)); len(records) > 0 && r.distinct(records) {
			return fmt.Sprintf(", with a list in %s: a collection with --answer-list=%[1]s", rawjson.Unquote(name))
		}
	}
	return ""
}

// translations maps parameters of other APIs to those of pickup.
var translations = map[string]string{
	"page": "_page", "p": "_page", "pageNumber": "_page", "page_number": "_page",
	"per_page": "_limit", "perPage": "_limit", "pageSize": "_limit", "page_size": "_limit",
	"size": "_limit", "limit": "_limit",
	"offset": "_start", "skip": "_start", "start": "_start",
	"sort": "_sort", "sort_by": "_sort", "sortBy": "_sort", "order": "_order",
}

// operator matches the end of a filter, as in price_gte and price:gte.
var operator = regexp.MustCompile(`(_gte|_lte|_ne|_like|:\w+)$`)

// route adds the routes of a collection, and reports unknown parameters.
func (r *Recording) route(l *list) {
	path := r.Prefix + "/" + l.name + "?"
	for _, asked := range l.asked {
		from, to := r.parameters(l, asked)
		if from == "" {
			continue
		}
		route := Route{From: path + strings.TrimPrefix(from, "&"), To: path + strings.TrimPrefix(to, "&")}
		if !slices.Contains(r.Routes, route) {
			r.Routes = append(r.Routes, route)
		}
	}
}

// parameters returns the parameters of a query with other names in pickup: both sides of a
// route, with an ampersand before each parameter.
func (r *Recording) parameters(l *list, query url.Values) (from, to string) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		field, _, _ := strings.Cut(operator.ReplaceAllString(name, ""), ".")
		if strings.HasPrefix(name, "_") || name == "q" || l.hasField(field) {
			continue
		}
		ours := translations[name]
		if ours == "" || strings.Contains(to, ours) || ours == "_page" && query.Get(name) == "0" {
			line := fmt.Sprintf("pickup does not know the parameter %s of /%s; requests with it return an empty list",
				name, l.name)
			if !slices.Contains(r.Report, line) {
				r.Report = append(r.Report, line)
			}
			continue
		}
		from += "&" + name + "=:" + ours[1:]
		to += "&" + ours + "=:" + ours[1:]
	}
	if !strings.Contains(to, "_limit") && (strings.Contains(to, "_page") || strings.Contains(to, "_start")) {
		to += fmt.Sprintf("&_limit=%d", max(l.most, 1))
	}
	return from, to
}

// hasField reports whether a record has the field.
func (l *list) hasField(name string) bool {
	return slices.ContainsFunc(l.items, func(i *source.Item) bool {
		_, ok := rawjson.Member(i.Value, name)
		return ok
	})
}
