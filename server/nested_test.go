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

// TestNestedLimits follows paths that are as deep as a value may be, deeper, and longer than a URL
// may be.
func TestNestedLimits(t *testing.T) {
	const depth = 200
	deep := strings.Repeat(`{"d":`, depth) + `[{"id":1}]` + strings.Repeat(`}`, depth)
	_, h := open(t, `{"posts": [{"id": 1, "d": `+deep+`}]}`, server.Options{})
	send := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	list := "/posts/1" + strings.Repeat("/d", depth+1)
	nested := func(levels int) string {
		return `{"x":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}"
	}
	for _, test := range []struct {
		method, path, body string
		want               int
		detail             string
	}{
		{"GET", list + "/1", "", http.StatusOK, ""},
		{"POST", list, nested(20), http.StatusCreated, ""},
		{"POST", list, nested(100), http.StatusBadRequest, "nested deeper than"},
		{"PUT", list + "/1", nested(100), http.StatusBadRequest, "nested deeper than"},
		{"PUT", list, "[" + nested(100) + "]", http.StatusBadRequest, "nested deeper than"},
		{"PATCH", "/posts/1" + strings.Repeat("/d", depth), `{"x":` + nested(100) + "}", http.StatusBadRequest, "nested deeper than"},
		{"GET", list + "/1/id/d", "", http.StatusNotFound, "is a number, and has nothing below it"},
		{"GET", "/posts/1" + strings.Repeat("/d", 10_000), "", http.StatusNotFound, "has no record with the id"},
		{"DELETE", list + "/" + strings.Repeat("x", 5_000), "", http.StatusNotFound, "has no record with the id"},
		{"POST", "/posts/1/" + strings.Repeat("x", 5_000), "{}", http.StatusNotFound, "has no field"},
		{"PUT", list + strings.Repeat("/d", 17_000), "1", http.StatusRequestURITooLong, "longer than"},
		{"GET", list + "/2/x", "", http.StatusOK, ""},
		{"DELETE", list + "/2", "", http.StatusOK, ""},
	} {
		w := send(test.method, test.path, test.body)
		if w.Code != test.want || !strings.Contains(w.Body.String(), test.detail) || w.Body.Len() > 4<<10 {
			t.Errorf("%s %.20s… (%d bytes): %d and not %d: %.300s", test.method, test.path, len(test.path), w.Code, test.want, w.Body)
		}
	}
	if got := send("GET", list, "").Body.String(); got != "[{\"id\":1}]\n" {
		t.Errorf("the list is %s", got)
	}
}
