// Package har makes a database of the answers that a browser has recorded in a HAR file
// (version 1.2). A list of records becomes a collection, an object a singular resource or
// a record, and any other answer a fixed answer. Only paths, queries, statuses and
// bodies are read, never headers or cookies.
package har

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/secret"
	"pickup/internal/source"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// Options say how to read a file.
type Options struct {
	Base         string // of the API, as in https://api.example.com/v1; "": the one with most answers
	IDMember     string // "": the first of id, _id and uuid that the records of some list have, or else id
	List, Record string // the fields that lists and records are in; "": none

	Refuses func(name string) bool // the database can have no collection of that name; may be nil
}

// A Recording is what is in a file of one API.
type Recording struct {
	Options
	Items  []*source.Item
	Fixed  []Answer // those with more parameters first
	Routes []Route  // those with more parameters first
	Report []string // what became of all requests
	Prefix string   // of the paths of the API

	lists    []*list
	outcomes map[string]int
	hidden   map[string]int // values, by the names of their fields
}

// An Answer is a fixed answer, as rules of a server have it.
type Answer struct {
	Path    string         `json:"path"`
	Methods []string       `json:"methods"`
	Query   string         `json:"query,omitempty"`
	Code    int            `json:"code"`
	Body    jsontext.Value `json:"body"`
}

// A Route gives parameters the names that they have here.
type Route struct{ From, To string }

// A list is a collection, or an object, which is its only item.
type list struct {
	name   string
	object bool
	items  []*source.Item
	byID   map[string]*source.Item
	most   int // records in a page
	asked  []url.Values
}

// An entry is a request with its answer.
type entry struct {
	Started  string `json:"startedDateTime"`
	Request  struct{ Method, URL string }
	Response struct {
		Status  int
		Content struct{ MimeType, Text, Encoding string }
	}

	at   string // a pointer to it
	url  *url.URL
	path []string // below the base
	body jsontext.Value
}

// prefix matches what the paths of an API begin with.
var prefix = regexp.MustCompile(`^(/(api|rest|v\d+(\.\d+)?)\b)*`)

// Read reads a HAR file.
func Read(text []byte, o Options) (*Recording, error) {
	var h struct {
		Log *struct{ Entries []*entry }
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &h); err != nil {
		return nil, err
	}
	if h.Log == nil || slices.Contains(h.Log.Entries, nil) {
		return nil, errors.New(`it is not a HAR file: it has no "log" with "entries"`)
	}
	r := &Recording{Options: o, Fixed: []Answer{}, outcomes: make(map[string]int), hidden: make(map[string]int)}
	bases := make(map[string]int)
	for i, e := range h.Log.Entries {
		e.at = rawjson.Pointer("log", "entries", strconv.Itoa(i))
		e.url, _ = url.Parse(e.Request.URL)
		if e.url = cmp.Or(e.url, new(url.URL)); isWeb(e.url) && strings.Contains(e.Response.Content.MimeType, "json") {
			base := e.url.Scheme + "://" + e.url.Host + prefix.FindString(e.url.EscapedPath())
			if bases[base]++; o.Base == "" && bases[base] > bases[r.Base] {
				r.Base = base
			}
		}
	}
	r.Base = strings.TrimSuffix(r.Base, "/")
	if base, err := url.Parse(r.Base); err != nil || !isWeb(base) {
		if o.Base == "" {
			return nil, errors.New("no answer of an http or https URL in it is JSON")
		}
		return nil, fmt.Errorf("%s is not the http or https URL of an API, as in https://api.example.com/v1", o.Base)
	}
	var all []*entry
	last := make(map[string]*entry) // by URL
	for _, e := range h.Log.Entries {
		if why := r.decode(e); why != "" {
			r.outcomes["left out: "+why]++
			continue
		}
		all = append(all, e)
		if l := last[e.Request.URL]; l == nil || l.Started <= e.Started {
			last[e.Request.URL] = e
		}
	}
	r.findIDs(all)
	// Lists first, then their records, with more fields, then what has parents.
	slices.SortStableFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.Started, b.Started))
	})
	for _, e := range all {
		outcome := r.add(e)
		if outcome == "" && last[e.Request.URL] != e {
			outcome = "left out: another answer came later"
		} else if outcome == "" {
			outcome = "fixed answers" + r.wrapper(e.body)
			query := slices.DeleteFunc(strings.Split(e.url.RawQuery, "&"), func(parameter string) bool {
				name, _, _ := strings.Cut(parameter, "=")
				return secret.IsName(name) || hasSecret("?"+parameter)
			})
			path := strings.NewReplacer("*", "%2A", ":", "%3A").Replace(strings.TrimPrefix(e.url.EscapedPath(), r.Prefix))
			r.Fixed = append(r.Fixed, Answer{path, []string{"GET"}, strings.Join(query, "&"), e.Response.Status, e.body})
		}
		r.outcomes[outcome]++
	}
	slices.SortStableFunc(r.Fixed, func(a, b Answer) int { return strings.Count(b.Query, "=") - strings.Count(a.Query, "=") })
	size := 0
	for n, a := range r.Fixed { // as many as a server takes
		if size += len(a.Path) + len(a.Query) + len(a.Body) + 100; n == 256 || size > 1<<20 {
			r.outcomes["left out: more than 256 fixed answers, or 1 MiB"] += len(r.Fixed) - n
			r.Fixed = r.Fixed[:n]
			break
		}
	}
	r.Report = []string{spell.Count(len(h.Log.Entries), "request") + ", the API is " + r.Base}
	for _, outcome := range slices.Sorted(maps.Keys(r.outcomes)) {
		r.Report = append(r.Report, fmt.Sprintf("%5d %s", r.outcomes[outcome], outcome))
	}
	for _, name := range slices.Sorted(maps.Keys(r.hidden)) {
		r.Report = append(r.Report, fmt.Sprintf("hidden: %s of %s", spell.Count(r.hidden[name], "value"), name))
	}
	for _, l := range r.lists {
		if r.Items = append(r.Items, l.items...); len(l.items) == 0 {
			r.Items = append(r.Items, &source.Item{Field: l.name, Whole: true, Value: jsontext.Value("[]")})
		}
		r.route(l)
	}
	slices.SortStableFunc(r.Routes, func(a, b Route) int { return strings.Count(b.From, "=") - strings.Count(a.From, "=") })
	return r, nil
}

// isWeb reports whether u can be the URL of an API: not of an extension of the browser, or
// of data.
func isWeb(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// decode reads the path and the body of an entry, without what may be secret. It returns
// why the entry cannot be used, "" if it can.
func (r *Recording) decode(e *entry) string {
	content := e.Response.Content
	base, err := url.Parse(r.Base)
	if err != nil || e.url.Scheme != base.Scheme || e.url.Host != base.Host {
		return "of " + e.url.Scheme + "://" + e.url.Host
	}
	r.Prefix = base.EscapedPath()
	rest, ok := strings.CutPrefix(strings.TrimSuffix(e.url.EscapedPath(), "/"), r.Prefix+"/")
	for part := range strings.SplitSeq(rest, "/") {
		part, _ = url.PathUnescape(part)
		e.path = append(e.path, part)
	}
	switch code := e.Response.Status; {
	case !ok || e.path[0] == "_":
		return "not an API, or the page of pickup"
	case slices.ContainsFunc(e.path, func(part string) bool { return len(part) > mostName }):
		return fmt.Sprintf("a name of more than %d bytes", mostName)
	case hasSecret("/" + rest):
		return "a secret in the path"
	case e.path[len(e.path)-1] == "graphql":
		return "GraphQL"
	case e.Request.Method != "GET":
		return e.Request.Method
	case code == 304:
		return "304, without an answer: disable the cache of the browser and record again"
	case code < 200 || 300 <= code && code < 400 || code >= 500:
		return fmt.Sprintf("status %d", code)
	case !strings.Contains(content.MimeType, "json"):
		return "not JSON"
	case content.Text == "":
		return "without a body: export the HAR with content"
	case content.Encoding == "base64":
		text, _ := base64.StdEncoding.DecodeString(content.Text) // without one it is not JSON
		content.Text = string(text)
	}
	body := jsontext.Value(content.Text)
	switch {
	case len(body) > 4<<20:
		return "more than 4 MiB"
	case !body.IsValid() || rawjson.Depth(body) > rawjson.MaxDepth:
		return "JSON that cannot be read"
	}
	name := "" // of the body: /csrf-token can be a string, or several
	if body = rawjson.Compact(body); strings.HasPrefix(strings.TrimPrefix(string(body), "["), `"`) {
		name = e.path[len(e.path)-1]
	}
	e.body = secret.Hide(body, name, func(name string) { r.hidden[name]++ })
	return ""
}

// hasSecret reports whether a part of a URL has what may be secret, percent-encoded or not.
func hasSecret(part string) bool {
	plain, _ := url.PathUnescape(part)
	return secret.InText(part) != part || secret.InText(plain) != plain
}

// findIDs finds the field that has the ids.
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

// embeds are parameters by which records have others in them.
var embeds = []string{"_embed", "_expand", "include", "expand", "populate", "embed"}

func (e *entry) isEmbedded() bool { return slices.ContainsFunc(embeds, e.url.Query().Has) }

// rank orders entries. Whole lists and their pages, which decide the order of a collection,
// come before filtered and sorted ones.
func (e *entry) rank() int {
	switch {
	case e.isEmbedded():
		return 9
	case len(e.path) == 1 && e.isPage():
		return 0
	}
	return len(e.path)
}

func (e *entry) isPage() bool {
	for name := range e.url.Query() {
		if here := cmp.Or(ours[name], name); !slices.Contains([]string{"_page", "_limit", "_start"}, here) {
			return false
		}
	}
	return true
}

// mostName is the length of a part of a path up to which it is imported: others could not
// name a collection in a folder.
const mostName = 200

// plain matches the names that collections and objects may have.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// add adds an answer to the collections and objects, and returns what became of it, ""
// if it is neither.
func (r *Recording) add(e *entry) string {
	body, name := r.unwrap(e.body), e.path[len(e.path)-1]
	records, below, parent := slices.Collect(rawjson.Elements(body)), "", jsontext.Value(nil)
	isList := body.Kind() == '['
	switch id, _ := storage.ID(body, r.IDMember); {
	case len(e.path) == 1 && (isList || e.url.RawQuery == ""):
	case len(e.path) == 2 && id == e.path[1]:
		name, records = e.path[0], []jsontext.Value{body}
	case len(e.path) == 3 && isList: // the children of a record
		of := r.list(e.path[0])
		if of == nil || of.byID[e.path[1]] == nil || r.list(name) == nil && len(records) == 0 {
			return ""
		}
		below = spell.Singular(of.name) + "Id"
		parent, _ = rawjson.Member(of.byID[e.path[1]].Value, r.IDMember)
	default:
		return ""
	}
	isObject := !isList && len(e.path) == 1
	l := r.list(name)
	switch {
	case e.Response.Status != 200, !r.canName(name), l != nil && l.object != isObject,
		isObject && (body.Kind() != '{' || r.wrapper(body) != ""), !isObject && !r.distinct(records):
		return ""
	case l != nil && e.isEmbedded():
		return "left out: records of " + name + " with others in them"
	case l == nil:
		l = &list{name: name, object: isObject, byID: make(map[string]*source.Item)}
		r.lists = append(r.lists, l)
	}
	if isObject {
		records = []jsontext.Value{body}
	} else if len(e.path) == 1 {
		if l.asked = append(l.asked, e.url.Query()); e.isPage() && e.url.RawQuery != "" {
			l.most = max(l.most, len(records))
		}
	}
	for _, v := range records {
		if _, has := rawjson.Member(v, below); below != "" && !has {
			v = rawjson.SetMember(v, below, string(parent))
		}
		id, _ := storage.ID(v, r.IDMember)
		if isObject {
			id = ""
		}
		if i := l.byID[id]; i != nil {
			i.Value = rawjson.MergeMembers(i.Value, v)
			continue
		}
		l.byID[id] = &source.Item{Field: name, Whole: isObject, Value: v, At: e.at}
		l.items = append(l.items, l.byID[id])
	}
	if isObject {
		return "the object " + name
	}
	return "the collection " + name
}

// canName reports whether the database can have a collection or an object of that name.
func (r *Recording) canName(name string) bool {
	return plain.MatchString(name) && name != "db" && (r.Refuses == nil || !r.Refuses(name))
}

// unwrap returns the list or the record in a body.
func (r *Recording) unwrap(body jsontext.Value) jsontext.Value {
	if v, ok := rawjson.Member(body, r.List); ok && v.Kind() == '[' {
		return v
	} else if v, ok := rawjson.Member(body, r.Record); ok && v.Kind() == '{' {
		return v
	}
	return body
}

// list returns the collection or object with this name, nil if it does not exist.
func (r *Recording) list(name string) *list {
	if i := slices.IndexFunc(r.lists, func(l *list) bool { return l.name == name }); i >= 0 {
		return r.lists[i]
	}
	return nil
}

// distinct reports whether all are records with an id of their own.
func (r *Recording) distinct(records []jsontext.Value) bool {
	seen := make(map[string]bool)
	return !slices.ContainsFunc(records, func(v jsontext.Value) bool {
		id, ok := storage.ID(v, r.IDMember)
		defer func() { seen[id] = true }()
		return !ok || seen[id]
	})
}

// wrapper says which field of an object has a list of records, as the end of a sentence.
func (r *Recording) wrapper(body jsontext.Value) string {
	for name, v := range rawjson.Members(body) {
		if records := slices.Collect(rawjson.Elements(v)); len(records) > 0 && r.distinct(records) {
			return fmt.Sprintf(", with a list in %s: a collection with --answer-list=%[1]s", rawjson.Unquote(name))
		}
	}
	return ""
}

// ours are the parameters that mean what others mean elsewhere.
var ours = map[string]string{
	"page": "_page", "p": "_page", "pageNumber": "_page", "page_number": "_page",
	"per_page": "_limit", "perPage": "_limit", "pageSize": "_limit", "page_size": "_limit", "size": "_limit", "limit": "_limit",
	"offset": "_start", "skip": "_start", "start": "_start",
	"sort": "_sort", "sort_by": "_sort", "sortBy": "_sort", "order": "_order",
}

// operator matches the end of a filter, as in price_gte and price:gte.
var operator = regexp.MustCompile(`(_gte|_lte|_ne|_like|:\w+)$`)

// route adds the routes of a collection, and reports the parameters that mean nothing here.
func (r *Recording) route(l *list) {
	path := r.Prefix + "/" + l.name + "?"
	for _, asked := range l.asked {
		from, to := "", ""
		for _, name := range slices.Sorted(maps.Keys(asked)) {
			field, _, _ := strings.Cut(operator.ReplaceAllString(name, ""), ".")
			known := slices.ContainsFunc(l.items, func(i *source.Item) bool { _, ok := rawjson.Member(i.Value, field); return ok })
			switch here := ours[name]; {
			case known, strings.HasPrefix(name, "_"), name == "q":
			case here == "" || strings.Contains(to, here) || here == "_page" && asked.Get(name) == "0":
				if line := fmt.Sprintf("%s of /%s means nothing here: such a list is empty", name, l.name); !slices.Contains(r.Report, line) {
					r.Report = append(r.Report, line)
				}
			default:
				from += "&" + name + "=:" + here[1:]
				to += "&" + here + "=:" + here[1:]
			}
		}
		if !strings.Contains(to, "_limit") && (strings.Contains(to, "_page") || strings.Contains(to, "_start")) {
			to += fmt.Sprintf("&_limit=%d", max(l.most, 1))
		}
		if route := (Route{path + strings.TrimPrefix(from, "&"), path + strings.TrimPrefix(to, "&")}); from != "" && !slices.Contains(r.Routes, route) {
			r.Routes = append(r.Routes, route)
		}
	}
}
