package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/rawjson"
)

// A contract is an OpenAPI document as a client has it. Every answer to the
// conversations in testdata, and to the random requests of TestContract, has to
// conform to the server's own document.
type contract struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
	stored   *database.Snapshot // what it describes
}

// isBroken reports whether stored values break the rules, or records have no id, and
// are served nevertheless.
func (c *contract) isBroken() bool {
	for _, name := range c.stored.Names() {
		for r := range c.stored.All(name) {
			if _, ok := rawjson.Member(r.Value, c.stored.IDMember(name)); !ok && r.Value.Kind() == '{' {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.stored.Check(), func(f database.Violation) bool {
		return !strings.Contains(f.Detail, "is the id of no record")
	})
}

func newContract(document []byte) (*contract, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	c := &contract{doc: v.(map[string]any), compiler: jsonschema.NewCompiler()}
	return c, c.compiler.AddResource("doc.json", v)
}

var contracts = make(map[string]*contract) // by document; the scripts take turns at it
var contractsOpen = make(chan bool, 1)

// contract returns the current document of a script's server.
func (s *script) contract(t *testing.T) *contract {
	t.Helper()
	return s.contractAt(t, "/_/openapi.json")
}

// contractAt returns the document that the server has at path. It asks again only if
// the database has changed.
func (s *script) contractAt(t *testing.T, path string) *contract {
	t.Helper()
	stored := s.db.Snapshot()
	if c := s.contracts[path]; c != nil && c.stored == stored {
		return c
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
	if user, password, ok := strings.Cut(s.user, ":"); ok {
		r.SetBasicAuth(user, password)
	}
	w := httptest.NewRecorder()
	s.web.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("the OpenAPI document: %d %s", w.Code, w.Body)
	}
	contractsOpen <- true
	defer func() { <-contractsOpen }()
	c := contracts[w.Body.String()]
	if c == nil {
		var err error
		if c, err = newContract(w.Body.Bytes()); err != nil {
			t.Fatal(err)
		}
		contracts[w.Body.String()] = c
	}
	now := *c
	now.stored = stored
	if s.contracts == nil {
		s.contracts = make(map[string]*contract)
	}
	s.contracts[path] = &now
	return &now
}

// conform returns how the answer to a request violates the document. Either the
// document from before the request or the one from after it has to allow the
// answer, which may show what was just deleted or created.
func conform(request []byte, a *answer, before *contract, after func() *contract) error {
	if strings.HasPrefix(a.status, "connection") || strings.Contains(a.header.Get("Pickup-Simulated"), "code=") {
		return nil // it can be anything
	}
	if !isDescribed(string(request)) {
		return nil
	}
	line, _, _ := strings.Cut(string(request), "\n")
	method, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	target, _, _ := strings.Cut(rest, " ")
	err := before.allows(method, target, a)
	if err != nil {
		if err2 := after().allows(method, target, a); err2 == nil {
			return nil
		}
	}
	return err
}

// allows checks one answer against the document.
func (c *contract) allows(method, target string, a *answer) error {
	contractsOpen <- true // a compiler is for one at a time
	defer func() { <-contractsOpen }()
	pointer, op := c.operation(method, target)
	responses := mapOf(op["responses"])
	if responses == nil {
		// Undocumented: an error, OPTIONS, the empty list of records that refer
		// to a record of a collection to which none refers, or a nested value, which
		// the introduction describes in words.
		path, _, _ := strings.Cut(target, "?")
		below := strings.Count(strings.Trim(path, "/"), "/") == 2
		if below && (a.status == "204" && method == http.MethodOptions || a.status == "304" ||
			a.status == "200" && (method == http.MethodHead || isEmptyList(a.body))) {
			return nil
		}
		if a.status < "400" && c.isNested(path) {
			return nil
		}
		if a.status < "400" {
			return fmt.Errorf("%s %s is not documented, but answered with %s", method, target, a.status)
		}
		if method == http.MethodHead {
			return nil
		}
		return c.validate("#/components/schemas/Problem", a.body)
	}
	name := a.status
	if responses[name] == nil {
		name = a.status[:1] + "XX"
	}
	response, ok := responses[name].(map[string]any)
	if !ok {
		return fmt.Errorf("the status %s is not documented", a.status)
	}
	pointer += "/responses/" + name
	if to, ok := response["$ref"].(string); ok {
		pointer, response = to, mapOf(c.at(to))
	}
	if err := c.headers(mapOf(response["headers"]), a); err != nil {
		return err
	}
	if a.status < "400" && method != http.MethodOptions && fmt.Sprint(op["tags"]) != "[service]" {
		if err := c.parameters(method, op, target); err != nil {
			return err
		}
	}
	content := mapOf(response["content"])
	preferred := strings.Contains(strings.Join(a.header["Preference-Applied"], ","), "return=minimal")
	if a.status == "431" {
		return nil // net/http's own line of text, which the description names
	}
	if content == nil || preferred && a.status == "201" {
		if a.body != "" || a.header.Get("Content-Type") != "" {
			return fmt.Errorf("no body is documented, but there is one of type %q: %s", a.header.Get("Content-Type"), a.body)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		return err
	}
	name = media
	if content[name] == nil {
		name = a.header.Get("Content-Type") // with its charset
	}
	if a.status == "200" && (media == "text/event-stream" || media == "text/csv") {
		return nil // the introduction has them
	}
	if content[name] == nil {
		return fmt.Errorf("the media type %s is not documented", media)
	}
	if method == http.MethodHead || !strings.HasSuffix(media, "json") || a.status < "400" && c.isBroken() {
		return nil
	}
	return c.validate(pointer+"/content/"+escaped(name)+"/schema", a.body)
}

// isEmptyList reports whether a body is a list without records, in one of its
// forms.
func isEmptyList(body string) bool {
	return body == "[]\n" || body == "" || body == `{"list":[],"page":{"all":0}}`+"\n" || strings.HasSuffix(body, `,"items":0,"data":[]}`+"\n")
}

// isNested reports whether a path leads into a record or an object, and not to the records of a
// collection that refer to a record.
func (c *contract) isNested(path string) bool {
	if base, _ := mapOf(c.doc["servers"].([]any)[0])["url"].(string); base != "/" {
		path = strings.TrimPrefix(path, base)
	}
	names := strings.Split(strings.Trim(path, "/"), "/")
	documented := mapOf(c.doc["paths"])
	if documented["/"+names[0]+"/{id}"] == nil {
		return len(names) > 1 && documented["/"+names[0]] != nil
	}
	return len(names) > 3 || len(names) == 3 && documented["/"+names[2]] == nil
}

// meaningful lists the headers that have to be documented wherever they are sent.
var meaningful = []string{
	"Location", "Link", "X-Total-Count", "Content-Range",
	"Allow", "Accept", "Accept-Encoding", "Accept-Patch", "Accept-Query", "Retry-After", "WWW-Authenticate",
}

// headers checks the headers of an answer against those of the documented response.
func (c *contract) headers(documented map[string]any, a *answer) error {
	has := func(name string) bool {
		for n := range a.header {
			if strings.EqualFold(n, name) {
				return true
			}
		}
		return false
	}
	for name, v := range documented {
		h := mapOf(v)
		if to, ok := h["$ref"].(string); ok {
			h = mapOf(c.at(to))
		}
		if h["schema"] == nil {
			return fmt.Errorf("the header %s is not described", name)
		}
		if h["required"] == true && !has(name) {
			return fmt.Errorf("the header %s is documented as always there, but is not", name)
		}
	}
	for _, name := range meaningful {
		if documented[name] == nil && has(name) {
			return fmt.Errorf("the header %s is not documented", name)
		}
	}
	return nil
}

// ofSimulations are the parameters that a server without simulations ignores.
var ofSimulations = []string{"_delay", "_code", "_fault", "_hold"}

// writeMethods are the methods that ignore parameters whose names are not ours, and effective are
// those of our names that they do not ignore.
var (
	writeMethods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	effective    = slices.DeleteFunc(append(slices.Clone(query.Functions), "_dependent", "_since"),
		func(name string) bool { return name == "_embed" || name == "_expand" })
)

// parameters looks for parameters that were honored but are not documented.
func (c *contract) parameters(method string, op map[string]any, target string) error {
	_, text, _ := strings.Cut(target, "?")
	sent, err := url.ParseQuery(text)
	if err != nil {
		return err
	}
	list, _ := op["parameters"].([]any)
	documented := make(map[string]bool)
	free := false
	for _, v := range list {
		p := mapOf(v)
		if to, ok := p["$ref"].(string); ok {
			p = mapOf(c.at(to))
		}
		if p["in"] == "query" {
			documented[p["name"].(string)] = true
			free = free || mapOf(p["schema"])["type"] == "object" // each filter by its name
		}
	}
	for name := range sent {
		switch {
		case documented[name], free && !strings.HasPrefix(name, "_"), slices.Contains(ofSimulations, name):
		case name == "_", query.IsCacheBuster(name):
		case len(list) > 0 && !free && !strings.HasPrefix(name, "_"): // ignored
		case slices.Contains(writeMethods, method) && !slices.Contains(effective, name): // ignored
		default:
			return fmt.Errorf("the parameter %s is not documented", name)
		}
	}
	return nil
}

// operation returns the documented operation and its pointer, or nil if there is
// none.
func (c *contract) operation(method, target string) (pointer string, op map[string]any) {
	path, _, _ := strings.Cut(target, "?")
	if below, ok := strings.CutPrefix(path, "/_/s/"); ok { // in a session
		_, path, _ = strings.Cut(below, "/")
		path = "/" + path
	}
	if list, ok := c.doc["servers"].([]any); ok && !strings.HasPrefix(path, "/_/") { // below a prefix
		if base, _ := mapOf(list[0])["url"].(string); base != "/" {
			below, ok := strings.CutPrefix(path, base)
			if path = "/" + strings.TrimPrefix(below, "/"); !ok || strings.HasPrefix(path, "/_/") || strings.HasPrefix(path, "/%5F/") {
				path = "" // no operation has it
			}
		}
	}
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	method = strings.ToLower(method)
	switch method {
	case "head":
		method = "get"
	}
	best := ""
	for template := range mapOf(c.doc["paths"]) {
		if fits(template, path) && (best == "" || strings.Count(template, "{") < strings.Count(best, "{")) {
			best = template
		}
	}
	return "#/paths/" + escaped(best) + "/" + method, mapOf(mapOf(mapOf(c.doc["paths"])[best])[method])
}

// fits reports whether a path matches a path template.
func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		w, err := url.PathUnescape(want[i])
		g, err2 := url.PathUnescape(got[i])
		parameter := strings.HasPrefix(want[i], "{")
		if err != nil || err2 != nil || !parameter && w != g || parameter && g == "" {
			return false
		}
	}
	return true
}

func (c *contract) validate(pointer, body string) error {
	sch, err := c.compiler.Compile("doc.json" + pointer)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return errors.New("the body is no JSON: " + body)
	}
	if err := sch.Validate(v); err != nil {
		return fmt.Errorf("%w\n%s", err, body)
	}
	return nil
}

// at returns the value at a pointer of the form #/a/b.
func (c *contract) at(pointer string) any {
	var v any = c.doc
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "#/"), "/") {
		v = mapOf(v)[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return v
}

func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// escaped returns a token of a JSON Pointer, encoded for the fragment of a URL.
func escaped(token string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
}
