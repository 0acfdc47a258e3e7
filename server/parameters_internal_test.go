package server

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/storage/storetest"
)

// TestUnknownParameters requests every method of every line of the route table with a
// parameter that it does not have.
func TestUnknownParameters(t *testing.T) {
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"a": [{"id": 1, "n": 1}], "b": [{"id": 1, "aId": 1}], "o": {"n": 1}}`)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := Handler(db, Options{Simulate: new(Simulation), Requests: true, Findings: lint.New("db.json", nil, db)})
	for i := range routes {
		r := &routes[i]
		if !strings.HasPrefix(r.path, "/_") && r.of == object {
			r = &route{path: "/o", get: r.get, put: r.put, patch: r.patch}
		}
		path := strings.NewReplacer(":collection", "a", ":child", "b", ":id", "1", ":member", "n", ":file", "page.js", ":name", "1").Replace(r.path)
		for _, method := range methods {
			if method == "OPTIONS" || r.handler(method) == nil && method != "HEAD" || r.get == nil && method == "HEAD" || r.path == "/_/metrics" {
				continue
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path+"?_unknown=1&_=1", nil))
			if ok := regexp.MustCompile(`"detail":"Parameter \\"_unknown\\": [^"]*`).MatchString(w.Body.String()); w.Code != 400 || !ok {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
}
