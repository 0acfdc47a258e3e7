package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"pickup/server"
)

// TestMaxPage requests pages with every spelling of their size. The error for one
// that is too large names the parameter.
func TestMaxPage(t *testing.T) {
	_, h := open(t, records(50), server.Options{MaxPage: 20})
	for query, parameter := range map[string]string{
		"": "", "_start=5": "", "_page=2": "", "_limit=20": "", "_start=30&_end=50": "",
		"_start=-10&_end=-1": "", "_page=1&_limit=5&_per_page=100": "", "_per_page=100": "",
		"_limit=21": "_limit", "_limit=1e9": "_limit", "_limit=21.0": "_limit", "_page=1&_limit=30": "_limit", "_page=1&_per_page=1E2": "_per_page",
		"_end=21": "_end", "_start=1&_end=22.5": "_end", "_start=0&_end=-1": "_end", "_start=-50&_end=40": "_end", "_start=-50&_limit=1e3": "_limit",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/schedules?"+query, nil))
		body := w.Body.String()
		refused := w.Code == 400 && strings.Contains(body, "at most 20 records") && strings.Contains(body, `"parameter":"`+parameter+`"`)
		if parameter == "" && w.Code != 200 || parameter != "" && !refused {
			t.Errorf("%s: %d %.200s", query, w.Code, body)
		}
	}
}
