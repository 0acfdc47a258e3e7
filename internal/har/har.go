// Package har makes a database of the responses in a HAR file (version 1.2), which a browser
// records. A list of records becomes a collection, an object becomes a singular resource or
// a record, and any other response becomes a fixed answer. The package reads paths, queries,
// statuses and bodies, but no headers or cookies.
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

// Options configures Read.
type Options struct {
	Base     string // URL of the API, as in https://api.example.com/v1; "": the most frequent
	IDMember string // field with the ids; "": the first of id, _id and uuid in use, or else id

	// List and Record are the fields that wrap lists and records. "": none.
	List, Record string

	// Refuses reports whether the database cannot have a collection of that name. It may be nil.
	Refuses func(name string) bool
}

// A Recording is the content of a HAR file for one API.
type Recording struct {
	Options
	Items  []*source.Item
	Fixed  []Answer // most parameters first
	Routes []Route  // most parameters first
	Report []string // lines about the outcome of all requests
	Prefix string   // path of the API

	origin   string // scheme and host of the API
	lists    []*list
	outcomes map[string]int
	hidden   map[string]int // number of hidden values by field name
}

// An Answer is a fixed answer in the form of a simulation rule.
type Answer struct {
	Path    string         `json:"path"`
	Methods []string       `json:"methods"`
	Query   string         `json:"query,omitempty"`
	Code    int            `json:"code"`
	Body    jsontext.Value `json:"body"`
}

// A Route maps the recorded API's parameter names to pickup's.
type Route struct{ From, To string }

// A list is a collection, or an object as its only item.
type list struct {
	name   string
	object bool
	items  []*source.Item
	byID   map[string]*source.Item
	most   int          // maximum number of records in a page
	asked  []url.Values // queries of the requests
}

// An entry is a request with its response.
type entry struct {
	Started  string `json:"startedDateTime"`
	Request  struct{ Method, URL string }
	Response struct {
		Status  int
		Content struct{ MimeType, Text, Encoding string }
	}

	at   string // JSON pointer to the entry
	url  *url.URL
	path []string // below the base
	body jsontext.Value
}

// prefix matches the start of a path that names an API and its version.
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
	if err := r.findBase(h.Log.Entries); err != nil {
		return nil, err
	}
	var usable []*entry
	latest := make(map[string]*entry) // by URL
	for _, e := range h.Log.Entries {
		if why := r.decode(e); why != "" {
			r.outcomes["left out: "+why]++
			continue
		}
		usable = append(usable, e)
		if l := latest[e.Request.URL]; l == nil || l.Started <= e.Started {
			latest[e.Request.URL] = e
		}
	}
	r.findIDs(usable)

	// Lists come before their records, which may have more fields. Children come last.
	slices.SortStableFunc(usable, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.Started, b.Started))
	})
	for _, e := range usable {
		outcome := r.add(e)
		if outcome == "" {
			outcome = r.fix(e, latest[e.Request.URL])
		}
		r.outcomes[outcome]++
	}
	r.limitFixed()
	r.writeReport(len(h.Log.Entries))
	for _, l := range r.lists {
		r.Items = append(r.Items, l.items...)
		if len(l.items) == 0 {
			r.Items = append(r.Items, &source.Item{Field: l.name, Whole: true, Value: jsontext.Value("[]")})
		}
		r.route(l)
	}
	slices.SortStableFunc(r.Routes, func(a, b Route) int {
		return strings.Count(b.From, "=") - strings.Count(a.From, "=")
	})
	return r, nil
}

// findBase parses the URLs of the entries. Without a base in the options, it sets the base
// that most responses in JSON share.
func (r *Recording) findBase(entries []*entry) error {
	given := r.Base
	counts := make(map[string]int)
	for i, e := range entries {
		e.at = rawjson.Pointer("log", "entries", strconv.Itoa(i))
		e.url, _ = url.Parse(e.Request.URL)
		e.url = cmp.Or(e.url, new(url.URL))
		if !isWeb(e.url) || !strings.Contains(e.Response.Content.MimeType, "json") {
			continue
		}
		base := e.url.Scheme + "://" + e.url.Host + prefix.FindString(e.url.EscapedPath())
		counts[base]++
		if given == "" && counts[base] > counts[r.Base] {
			r.Base = base
		}
	}

	r.Base = strings.TrimSuffix(r.Base, "/")
	base, err := url.Parse(r.Base)
	if err == nil && isWeb(base) {
		r.origin, r.Prefix = base.Scheme+"://"+base.Host, base.EscapedPath()
		return nil
	}
	if given == "" {
		return errors.New("it has no response in JSON from an http or https URL")
	}
	return fmt.Errorf("%s is not the http or https URL of an API, as in https://api.example.com/v1", given)
}

// literal escapes the wildcards of rules.
var literal = strings.NewReplacer("*", "%2A", ":", "%3A")

// fix adds the fixed answer of an entry, unless a later entry has the same URL. It returns
// the outcome.
func (r *Recording) fix(e, latest *entry) string {
	if e != latest {
		return "left out: a later response has the same URL"
	}
	query := slices.DeleteFunc(strings.Split(e.url.RawQuery, "&"), func(parameter string) bool {
		name, _, _ := strings.Cut(parameter, "=")
		return secret.IsName(name) || hasSecret("?"+parameter)
	})
	r.Fixed = append(r.Fixed, Answer{
		Path:    literal.Replace(strings.TrimPrefix(e.url.EscapedPath(), r.Prefix)),
		Methods: []string{"GET"},
		Query:   strings.Join(query, "&"),
		Code:    e.Response.Status,
		Body:    e.body,
	})
	return "fixed answers" + r.wrapper(e.body)
}

// limitFixed sorts the fixed answers and drops those beyond the limits of a server.
func (r *Recording) limitFixed() {
	slices.SortStableFunc(r.Fixed, func(a, b Answer) int {
		return strings.Count(b.Query, "=") - strings.Count(a.Query, "=")
	})
	size := 0
	for n, a := range r.Fixed {
		size += len(a.Path) + len(a.Query) + len(a.Body) + 100
		if n == 256 || size > 1<<20 {
			r.outcomes["left out: more than 256 fixed answers, or 1 MiB"] += len(r.Fixed) - n
			r.Fixed = r.Fixed[:n]
			return
		}
	}
}

// writeReport starts the report with what became of the requests.
func (r *Recording) writeReport(requests int) {
	r.Report = []string{spell.Count(requests, "request") + ", the API is " + r.Base}
	for _, outcome := range slices.Sorted(maps.Keys(r.outcomes)) {
		r.Report = append(r.Report, fmt.Sprintf("%5d %s", r.outcomes[outcome], outcome))
	}
	for _, name := range slices.Sorted(maps.Keys(r.hidden)) {
		r.Report = append(r.Report, fmt.Sprintf("hidden: %s of %s", spell.Count(r.hidden[name], "value"), name))
	}
}

// isWeb reports whether u is an http or https URL, not one of a browser extension or of data.
func isWeb(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// decode reads the path and the body of an entry and hides secrets. It returns the reason
// if the entry cannot be used, or else "".
func (r *Recording) decode(e *entry) string {
	content := e.Response.Content
	if origin := e.url.Scheme + "://" + e.url.Host; origin != r.origin {
		return "of " + origin
	}
	rest, ok := strings.CutPrefix(strings.TrimSuffix(e.url.EscapedPath(), "/"), r.Prefix+"/")
	for part := range strings.SplitSeq(rest, "/") {
		part, _ = url.PathUnescape(part)
		e.path = append(e.path, part)
	}
	code := e.Response.Status
	switch {
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
		return "304, without a body: disable the cache of the browser and record again"
	case code < 200 || 300 <= code && code < 400 || code >= 500:
		return fmt.Sprintf("status %d", code)
	case !strings.Contains(content.MimeType, "json"):
		return "not JSON"
	case content.Text == "":
		return "without a body: export the HAR with content"
	case content.Encoding == "base64":
		text, _ := base64.StdEncoding.DecodeString(content.Text) // after an error the text is not JSON
		content.Text = string(text)
	}
	body := jsontext.Value(content.Text)
	if len(body) > 4<<20 {
		return "more than 4 MiB"
	}
	if !body.IsValid() || rawjson.Depth(body) > rawjson.MaxDepth {
		return "JSON that cannot be read"
	}
	name := "" // the name of a body of strings, as of /csrf-token
	body = rawjson.Compact(body)
	if strings.HasPrefix(strings.TrimPrefix(string(body), "["), `"`) {
		name = e.path[len(e.path)-1]
	}
	e.body = secret.Hide(body, name, func(name string) { r.hidden[name]++ })
	return ""
}

// hasSecret reports whether a part of a URL contains a secret, percent-encoded or not.
func hasSecret(part string) bool {
	plain, _ := url.PathUnescape(part)
	return secret.InText(part) != part || secret.InText(plain) != plain
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

// embeds lists parameters that embed other records.
var embeds = []string{"_embed", "_expand", "include", "expand", "populate", "embed"}

func (e *entry) isEmbedded() bool { return slices.ContainsFunc(embeds, e.url.Query().Has) }

// rank returns the position of an entry among the others. Whole lists and pages decide the
// order of a collection, so they come before filtered and sorted lists.
func (e *entry) rank() int {
	switch {
	case e.isEmbedded():
		return 9
	case len(e.path) == 1 && e.isPage():
		return 0
	}
	return len(e.path)
}

// isPage reports whether the query only selects a page.
func (e *entry) isPage() bool {
	for name := range e.url.Query() {
		switch cmp.Or(translations[name], name) {
		case "_page", "_limit", "_start":
		default:
			return false
		}
	}
	return true
}

// mostName is the maximum length of a path segment. A longer one cannot be the name of a
// file in a folder.
const mostName = 200

// plain matches valid names of collections and objects.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// A target is the collection or object that a response belongs to, with its records.
type target struct {
	name    string
	object  bool
	records []jsontext.Value
	parent  string         // the field with the id of the parent; "": none
	id      jsontext.Value // of the parent
}

// add adds the records of a response to a collection, or makes it an object, and returns
// the outcome. It returns "" if the response is neither.
func (r *Recording) add(e *entry) string {
	t := r.target(e)
	if t == nil || e.Response.Status != 200 || !r.canName(t.name) || !t.object && !r.distinct(t.records) {
		return ""
	}
	l := r.list(t.name)
	if l != nil && l.object != t.object {
		return ""
	}
	if l != nil && e.isEmbedded() {
		return "left out: records of " + t.name + " with embedded records"
	}
	if l == nil {
		l = &list{name: t.name, object: t.object, byID: make(map[string]*source.Item)}
		r.lists = append(r.lists, l)
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
		if _, has := rawjson.Member(v, t.parent); t.parent != "" && !has {
			v = rawjson.SetMember(v, t.parent, string(t.id))
		}
		id, _ := storage.ID(v, r.IDMember)
		l.put(e, id, v)
	}
	return "the collection " + t.name
}

// target returns what a response belongs to: /posts to a collection or an object, /posts/1
// and /posts/1/comments to a collection. It returns nil if it belongs to nothing.
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
	if id, _ := storage.ID(body, r.IDMember); len(e.path) == 2 && id == e.path[1] {
		return &target{name: e.path[0], records: []jsontext.Value{body}}
	}
	if len(e.path) != 3 || !isList {
		return nil
	}
	of := r.list(e.path[0])
	if of == nil || of.byID[e.path[1]] == nil || r.list(t.name) == nil && len(t.records) == 0 {
		return nil
	}
	t.parent = spell.Singular(of.name) + "Id"
	t.id, _ = rawjson.Member(of.byID[e.path[1]].Value, r.IDMember)
	return t
}

// put adds a record, or merges its fields into the one with the same id.
func (l *list) put(e *entry, id string, v jsontext.Value) {
	if i := l.byID[id]; i != nil {
		i.Value = rawjson.MergeMembers(i.Value, v)
		return
	}
	l.byID[id] = &source.Item{Field: l.name, Whole: l.object, Value: v, At: e.at}
	l.items = append(l.items, l.byID[id])
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

// list returns the collection or object with this name, nil if it does not exist.
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

// wrapper returns the end of a sentence about the field of an object that holds a list of
// records, or "".
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
		route := Route{path + strings.TrimPrefix(from, "&"), path + strings.TrimPrefix(to, "&")}
		if from != "" && !slices.Contains(r.Routes, route) {
			r.Routes = append(r.Routes, route)
		}
	}
}

// parameters returns the parameters of a query that have another name in pickup, as both
// sides of a route have them, each after an ampersand.
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
