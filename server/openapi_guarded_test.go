package server_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// TestGuardedDescribed checks the answers of a server with credentials and metrics
// against its document.
func TestGuardedDescribed(t *testing.T) {
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"posts":[{"id":1}]}`)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{db: db, user: "u:p", web: server.Handler(db, server.Options{
		Auth: single("u", "p"), Metrics: server.NewMetrics(), MaxBody: 100, MaxURL: 200,
	})}
	c := s.contract(t)
	good := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("u:p")) + "\n"
	wrong := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("u:x")) + "\n"
	ask := func(want, request string) {
		t.Helper()
		a := s.roundTrip(t, request)
		if a.status != want {
			t.Errorf("%s\nis answered with %s %s, want %s", request, a.status, a.body, want)
		}
		if err := conform([]byte(request), a, c, func() *contract { return c }); err != nil {
			t.Errorf("%s\nis answered with %s, and the document says: %v", request, a.status, err)
		}
	}
	ask("200", "GET /_/metrics\n"+good+"\n")
	ask("200", "GET /_/readyz?verbose\n"+good+"\n")
	ask("401", "GET /_/metrics\n\n")
	ask("200", "GET /_/livez\n\n")
	ask("413", "POST /posts\n"+good+"\n{\"text\":\""+strings.Repeat("x", 100)+"\"}")
	ask("413", "QUERY /posts\nContent-Type: application/json\n"+good+"\n{\"text\":\""+strings.Repeat("x", 100)+"\"}")
	ask("414", "GET /posts?text="+strings.Repeat("x", 200)+"\n"+good+"\n")
	for range 10 {
		ask("401", "GET /posts\n"+wrong+"\n")
	}
	ask("401", "GET /posts\n"+wrong+"\n") // the one that begins the pause
	for _, request := range []string{
		"GET /posts", "GET /_/metrics", "GET /db", "DELETE /posts/1", "QUERY /posts", "OPTIONS /posts",
		"GET /_/readyz?verbose", "GET /_/openapi.json",
	} {
		ask("429", request+"\n"+wrong+"\n")
	}

	plain := openScript(t, `{}`, "").contract(t)
	if _, op := plain.operation("GET", "/_/metrics"); op != nil {
		t.Error("metrics are described where there are none")
	}
	if text := fmt.Sprint(mapOf(mapOf(mapOf(plain.doc["components"])["responses"])["Refused"])["description"]); strings.Contains(text, "429") {
		t.Error("a server without credentials slows down those that fail")
	}
}
