package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"pickup/server"
)

// TestInvalidJSONMetric checks that the 500 that the interface prescribes for invalid
// JSON is not counted as a failure of the server.
func TestInvalidJSONMetric(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{Metrics: server.NewMetrics()})
	send := func(method, path, body string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, path, strings.NewReader(body)), httptest.NewRecorder()
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
		return w
	}
	if w := send("POST", "/posts", "{"); w.Code != 500 {
		t.Errorf("answered with %d", w.Code)
	}
	text := send("GET", "/_/metrics", "").Body.String()
	if !strings.Contains(text, `pickup_http_requests_total{code="400",method="POST",route="/:collection"} 1`) || strings.Contains(text, `code="500"`) {
		t.Errorf("the metrics are %s", text)
	}
}
