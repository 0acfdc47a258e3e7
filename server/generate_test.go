package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestGenerateMany makes so many records that they are made in a fork, while others write. They
// are those of the preview, and one undo takes them back.
func TestGenerateMany(t *testing.T) {
	const before = `{"posts":[{"id":1,"title":"a","views":3,"author":"Ann"}],"comments":[],"notes":[]}`
	const rules = `{"properties":{"comments":{"items":{"required":["postId"],"properties":{"postId":{"type":"integer","x-ref":{"collection":"posts","must-exist":true}},"text":{"type":"string"}}}}}}`
	s := openScript(t, before, rules)
	post := func(preferences string) (answer struct{ Records map[string]json.RawMessage }) {
		t.Helper()
		a := s.roundTrip(t, "POST /_/generate\n"+preferences+"\n\n{\"collections\": {\"comments\": 1990, \"posts\": 10}, \"seed\": 7, \"now\": \"2026-11-23T12:00:00Z\"}\n")
		if err := json.Unmarshal([]byte(a.body), &answer); err != nil || a.status != "200" {
			t.Fatalf("%s %.300s", a.status, a.body)
		}
		return answer
	}
	preview := post("Prefer: tx=rollback").Records["comments"]
	var writers sync.WaitGroup
	writers.Go(func() {
		for i := range 50 {
			if a := s.roundTrip(t, fmt.Sprintf("POST /notes\n\n{\"n\": %d}\n", i)); a.status != "201" {
				t.Errorf("a write meanwhile: %s %s", a.status, a.body)
			}
		}
	})
	post("Accept: */*")
	writers.Wait()
	if made := strings.TrimSpace(s.roundTrip(t, "GET /comments\n\n").body); made != string(preview) || len(made) < 1990*10 {
		t.Errorf("%.300s\nis not the preview\n%.300s", made, preview)
	}
	for range 51 {
		if a := s.roundTrip(t, "POST /_/undo\n\n"); a.status != "200" {
			t.Fatalf("%s %s", a.status, a.body)
		}
	}
	if after := strings.TrimSpace(s.roundTrip(t, "GET /db\n\n").body); after != before {
		t.Errorf("after the undo: %.300s", after)
	}
}
