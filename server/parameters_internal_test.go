package server

import (
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/query"
	"pickup/internal/storage/storetest"
)

// TestUnknownParameters requests every method of every line of the route table with a
// parameter that it does not have, in a write with one that is almost a name of ours.
func TestUnknownParameters(t *testing.T) {
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"a": [{"id": 1, "n": 1}], "b": [{"id": 1, "aId": 1}], "o": {"n": 1}}`)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := Handler(db, Options{Simulate: new(Simulation), Requests: true, Findings: lint.New("db.json", nil, db)})
	for i := range routes {
		r := &routes[i]
		if !strings.HasPrefix(r.path, "/_") && r.of == object {
			r = &route{path: "/o", of: object, get: r.get, put: r.put, patch: r.patch}
		}
		path := strings.NewReplacer(":collection", "a", ":child", "b", ":id", "1", ":member", "n", ":file", "page.js", ":name", "1").Replace(r.path)
		for _, method := range methods {
			if method == "OPTIONS" || r.handler(method) == nil && method != "HEAD" || r.get == nil && method == "HEAD" || r.path == "/_/metrics" {
				continue
			}
			name := "_unknown"
			if !isSafe(method) && (r.of == array || r.of == object) {
				name = "_expnd"
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path+"?"+name+"=1&_=1", nil))
			ok := regexp.MustCompile(`"detail":"Parameter \\"` + name + `\\": [^"]*`).MatchString(w.Body.String())
			if w.Code != 400 || !ok {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
}

// undescribed are the query parameters that the introduction of the document has.
var undescribed = []string{"_page", "_per_page", "_fields", "_since", "_delay", "_code", "_fault", "_hold", "Id", "id", ownID}

// TestDescribedParameters compares the query parameters of the document with the ones
// that the route table takes.
func TestDescribedParameters(t *testing.T) {
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"a": [{"id": 1, "n": 1}], "b": [{"id": 1, "aId": 1}], "o": {"n": 1}}`)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := Handler(db, Options{Simulate: new(Simulation), Requests: true, Findings: lint.New("db.json", nil, db)})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/_/openapi.json", nil))
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i := range routes {
		r := &routes[i]
		path := strings.NewReplacer(":collection", "b", ":child", "b", ":id", "{id}", ":name", "{id}").Replace(r.path)
		switch {
		case strings.HasPrefix(r.path, "/_/values"), strings.HasPrefix(r.path, "/_/schemas/"):
			path = regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.path, "{$1}")
		case r.of == object:
			path = "/o"
		case strings.HasSuffix(r.path, ":child"):
			path = "/a/{id}/b"
		}
		item := doc.Paths.Value(path)
		if item == nil {
			continue // such as the files of a page
		}
		for method, op := range item.Operations() {
			var described []string
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				if p.Value.In == "query" && p.Value.Name != "filters" {
					described = append(described, p.Value.Name)
				}
			}
			taken := r.parametersOf(method)
			if len(taken) == 1 && taken[0] == anyParameter && path != "/" {
				taken = slices.Concat(query.Functions, []string{"id", "aId"}) // the fields of b are filters
			}
			for _, name := range described {
				if !slices.Contains(taken, name) {
					t.Errorf("%s %s does not take %s", method, path, name)
				}
			}
			for _, name := range taken {
				ofData := !strings.HasPrefix(path, "/_/")
				meant := name != anyParameter && !(ofData && slices.Contains(undescribed, name))
				if meant && !slices.Contains(described, name) {
					t.Errorf("the document lacks %s of %s %s", name, method, path)
				}
			}
		}
	}
}
