package server_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"pickup/server"
)

// TestCachedLists requests lists, and records with embedded ones, repeatedly between
// writes, each also with a parameter that bypasses the cache: the answers are the
// same.
func TestCachedLists(t *testing.T) {
	_, h := open(t, strings.TrimSuffix(records(50), "}")+`,"drivers":[{"id":"7","driverName":"Ruth"}]}`, server.Options{})
	ask := func(method, target, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
		return w
	}
	lists := []string{"/schedules?", "/schedules?driverId=7&", "/schedules?q=oak&_sort=-note&",
		"/schedules?_limit=3&", "/schedules?_page=2&_per_page=5&", "/schedules?_fields=id,status&",
		"/schedules?_expand=driver&driverId=7&", "/drivers/7?_embed=schedules&", "/drivers/7?_embed=schedules&_fields=schedules.note&"}
	n := 0
	for i := range 40 {
		for _, list := range lists {
			for range 4 {
				n++
				got, want := ask("GET", strings.TrimRight(list, "?&"), ""), ask("GET", fmt.Sprintf("%s_=%d", list, n), "")
				if got.Code != 200 || got.Body.String() != want.Body.String() || got.Header().Get("X-Total-Count") != want.Header().Get("X-Total-Count") {
					t.Fatalf("%s after %d writes: %d %s\nnot %s", list, i, got.Code, got.Body, want.Body)
				}
			}
		}
		switch i % 4 {
		case 0:
			ask("PATCH", fmt.Sprintf("/schedules/%d", i), fmt.Sprintf(`{"status":"Canceled","note":"%d"}`, i))
		case 1:
			ask("POST", "/schedules", fmt.Sprintf(`{"driverId":"7","note":"oak %d"}`, i))
		case 2:
			ask("PATCH", "/drivers/7", fmt.Sprintf(`{"driverName":"Ruth %d"}`, i))
		default:
			ask("DELETE", fmt.Sprintf("/schedules/%d", i), "")
		}
	}
}
