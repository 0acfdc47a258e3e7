package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pickup/server"
)

// TestNestedListTag follows the tag of a nested list, which depends on nothing but the list.
func TestNestedListTag(t *testing.T) {
	_, h := open(t, `{"lists": [{"id": 1, "items": [{"id": 1}], "n": 0}, {"id": 2}]}`, server.Options{})
	send := func(method, path, body string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		if len(header) > 0 {
			r.Header.Set(header[0], header[1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	tag := func() string { return tagOf(send("GET", "/lists/1/items", "")) }
	first := tag()
	for _, path := range []string{"/lists/1", "/lists/2"} {
		if w := send("PATCH", path, `{"n": 5}`); w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	if got := tag(); got != first {
		t.Errorf("after changes elsewhere the tag is %s and not %s", got, first)
	}
	for _, test := range []struct {
		method, path, body, condition string
		want                          int
	}{
		{"GET", "/lists/1/items", "", "If-None-Match", http.StatusNotModified},
		{"GET", "/lists/1/items?_sort=id", "", "If-None-Match", http.StatusOK},
		{"PUT", "/lists/1/items", `[]`, "If-None-Match", http.StatusPreconditionFailed},
		{"POST", "/lists/1/items", `{}`, "If-Match", http.StatusCreated},
		{"POST", "/lists/1/items", `{}`, "If-Match", http.StatusPreconditionFailed},
		{"PUT", "/lists/1/items", `[]`, "If-Match", http.StatusPreconditionFailed},
		{"DELETE", "/lists/1/items", "", "If-Match", http.StatusPreconditionFailed},
		{"GET", "/lists/1/items", "", "If-None-Match", http.StatusOK},
		{"DELETE", "/lists/1/items/2", "", "", http.StatusOK},
		{"GET", "/lists/1/items", "", "If-None-Match", http.StatusNotModified},
		{"DELETE", "/lists/1/items", "", "If-Match", http.StatusOK},
	} {
		var header []string
		if test.condition != "" {
			header = []string{test.condition, first}
		}
		w := send(test.method, test.path, test.body, header...)
		if w.Code != test.want {
			t.Errorf("%s %s with %s: %d and not %d: %s", test.method, test.path, test.condition, w.Code, test.want, w.Body)
		}
	}
}
