package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// TestFollowAgain loses two connections, the second one before its first event: the third
// still asks for what has come since.
func TestFollowAgain(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": nothing has changed\n\n")
		if len(asked) == 1 {
			fmt.Fprint(w, "event: change\nid: RUN-7\ndata: {}\n\n")
		}
	}))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{client: client{server: u}, print: func(string, []byte) error { return nil }}
	for range 3 {
		f.follow(t.Context(), func() {})
	}
	if fmt.Sprint(asked) != "[ RUN-7 RUN-7]" {
		t.Errorf("Last-Event-ID is %q", asked)
	}
}
