// Package har makes a database of the responses in a HAR file (version 1.2), which a browser
// records. A list of records becomes a collection, an object becomes a singular resource or
// a record, and any other response becomes a fixed response. The package reads paths, queries,
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
)

// Options configures Read.
type Options struct {
	Base     string // URL of the API, as in https://api.example.com/v1; "": the most frequent
	IDMember string // field with the ids; "": the first of id, _id and uuid in use, or else id

	// List and Record are the fields that wrap lists and records. "": none.
	List, Record string

	// Refuses reports whether the database cannot have a collection of that name. Refuses may
	// be nil.
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

// An Answer is a fixed response in the form of a simulation rule.
type Answer struct {
	Path    string         `json:"path"`
	Methods []string       `json:"methods"`
	Query   string         `json:"query,omitempty"`
	Code    int            `json:"code"`
	Body    jsontext.Value `json:"body"`
}

// A Route maps the recorded API's parameter names to pickup's.
type Route struct{ From, To string }

// An entry is a request with the response.
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

// prefix matches the start of a path with the name and the version of an API.
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

	r := &Recording{
		Options:  o,
		Fixed:    []Answer{},
		outcomes: make(map[string]int),
		hidden:   make(map[string]int),
	}
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

	// Lists come before records, because single records may have more fields. Children come
	// last.
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
			empty := &source.Item{Field: l.name, Whole: true, Value: jsontext.Value("[]")}
			r.Items = append(r.Items, empty)
		}
		r.route(l)
	}
	slices.SortStableFunc(r.Routes, func(a, b Route) int { return compareParameters(a.From, b.From) })
	return r, nil
}

// findBase parses the URLs of the entries. Without a base in the options, findBase sets the
// base of most responses in JSON.
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
		r.origin = base.Scheme + "://" + base.Host
		r.Prefix = base.EscapedPath()
		return nil
	}
	if given == "" {
		return errors.New("it has no response in JSON from an http or https URL")
	}
	const detail = "%s is not the http or https URL of an API, as in https://api.example.com/v1"
	return fmt.Errorf(detail, given)
}

// literal escapes the wildcards of rules.
var literal = strings.NewReplacer("*", "%2A", ":", "%3A")

// fix adds the fixed response of an entry, unless a later entry has the same URL. fix returns the
// outcome.
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
	return "fixed responses" + r.wrapper(e.body)
}

// compareParameters orders queries by the number of parameters, most first.
func compareParameters(a, b string) int {
	return strings.Count(b, "=") - strings.Count(a, "=")
}

// limitFixed sorts the fixed responses and drops all beyond the limits of a server.
func (r *Recording) limitFixed() {
	slices.SortStableFunc(r.Fixed, func(a, b Answer) int {
		return compareParameters(a.Query, b.Query)
	})
	size := 0
	for n, a := range r.Fixed {
		size += len(a.Path) + len(a.Query) + len(a.Body) + 100
		if n == 256 || size > 1<<20 {
			r.outcomes["left out: more than 256 fixed responses, or 1 MiB"] += len(r.Fixed) - n
			r.Fixed = r.Fixed[:n]
			return
		}
	}
}

// writeReport starts the report with the outcomes of the requests.
func (r *Recording) writeReport(requests int) {
	r.Report = []string{spell.Count(requests, "request") + ", the API is " + r.Base}
	for _, outcome := range slices.Sorted(maps.Keys(r.outcomes)) {
		r.Report = append(r.Report, fmt.Sprintf("%5d %s", r.outcomes[outcome], outcome))
	}
	for _, name := range slices.Sorted(maps.Keys(r.hidden)) {
		line := fmt.Sprintf("hidden: %s of %s", spell.Count(r.hidden[name], "value"), name)
		r.Report = append(r.Report, line)
	}
}

// isWeb reports whether u is an http or https URL, not one of a browser extension or of data.
func isWeb(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// decode reads the path and the body of an entry and hides secrets. decode returns the reason
// if the entry cannot be used, or else "".
func (r *Recording) decode(e *entry) string {
	if origin := e.url.Scheme + "://" + e.url.Host; origin != r.origin {
		return "of " + origin
	}
	rest, ok := strings.CutPrefix(strings.TrimSuffix(e.url.EscapedPath(), "/"), r.Prefix+"/")
	for part := range strings.SplitSeq(rest, "/") {
		part, _ = url.PathUnescape(part)
		e.path = append(e.path, part)
	}
	if !ok || e.path[0] == "_" {
		return "not an API, or the page of pickup"
	}
	if slices.ContainsFunc(e.path, func(part string) bool { return len(part) > mostName }) {
		return fmt.Sprintf("a name of more than %d bytes", mostName)
	}
	if hasSecret("/" + rest) {
		return "a secret in the path"
	}
	last := e.path[len(e.path)-1]
	if last == "graphql" {
		return "GraphQL"
	}
	text, why := e.text()
	if why != "" {
		return why
	}

	body := jsontext.Value(text)
	if len(body) > 4<<20 {
		return "more than 4 MiB"
	}
	if !body.IsValid() || rawjson.Depth(body) > rawjson.MaxDepth {
		return "JSON that cannot be read"
	}
	name := "" // the name of a body of strings, as of /csrf-token
	body = rawjson.Compact(body)
	if strings.HasPrefix(strings.TrimPrefix(string(body), "["), `"`) {
		name = last
	}
	e.body = secret.Hide(body, name, func(name string) { r.hidden[name]++ })
	return ""
}

// text returns the text of the response, or the reason if the response cannot be used.
func (e *entry) text() (text, why string) {
	code := e.Response.Status
	content := e.Response.Content
	switch {
	case e.Request.Method != "GET":
		return "", e.Request.Method
	case code == 304:
		return "", "304, without a body: disable the cache of the browser and record again"
	case code < 200 || 300 <= code && code < 400 || code >= 500:
		return "", fmt.Sprintf("status %d", code)
	case !strings.Contains(content.MimeType, "json"):
		return "", "not JSON"
	case content.Text == "":
		return "", "without a body: export the HAR with content"
	}
	if content.Encoding != "base64" {
		return content.Text, ""
	}
	decoded, _ := base64.StdEncoding.DecodeString(content.Text) // after an error the text is not JSON
	return string(decoded), ""
}

// hasSecret reports whether a part of a URL contains a secret, percent-encoded or not.
func hasSecret(part string) bool {
	plain, _ := url.PathUnescape(part)
	return secret.InText(part) != part || secret.InText(plain) != plain
}

// embeds lists parameters that embed other records.
var embeds = []string{"_embed", "_expand", "include", "expand", "populate", "embed"}

func (e *entry) isEmbedded() bool {
	return slices.ContainsFunc(embeds, e.url.Query().Has)
}

// rank returns the position of an entry among the others. Whole lists and pages decide the
// order of a collection, and come before filtered and sorted lists.
func (e *entry) rank() int {
	if e.isEmbedded() {
		return 9
	}
	if len(e.path) == 1 && e.isPage() {
		return 0
	}
	return len(e.path)
}

// pages lists the parameters of pages.
var pages = []string{"_page", "_limit", "_start"}

// isPage reports whether the query only selects a page.
func (e *entry) isPage() bool {
	for name := range e.url.Query() {
		if !slices.Contains(pages, cmp.Or(translations[name], name)) {
			return false
		}
	}
	return true
}

// mostName is the maximum length of a path segment. A longer segment cannot be the name of a
// file in a folder.
const mostName = 200
