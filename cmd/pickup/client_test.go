package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"pickup/filestore"
	"pickup/internal/config"
)

// TestOpenOrAsk asks the server that has a file, and opens a file that no server has.
func TestOpenOrAsk(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch _, password, _ := r.BasicAuth(); {
		case password != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/_/status":
			fmt.Fprint(w, `{"prefix":"/api","limits":{"body":1000}}`)
		default:
			w.WriteHeader(http.StatusConflict)
			fmt.Fprintf(w, `{"detail":"%s %s has %s."}`, r.Method, r.URL, r.Header.Get("Prefer"))
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "db.json")
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	password := ""
	e := &environment{Sources: &config.Sources{File: new(config.File), Getenv: func(name string) string { return map[string]string{"PICKUP_PASSWORD": password}[name] }}}
	hold := func(url string) *filestore.Store {
		store, err := filestore.Open(t.Context(), path, filestore.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	ask := func(want string) *client {
		store, c, err := openOrAsk(t.Context(), e, path)
		if store != nil {
			t.Fatal("a file in use was opened")
		}
		if got := fmt.Sprint(err); want != "" && !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("the error is %q; want %q", got, want)
		}
		return c
	}

	held := hold("")
	ask("in use")
	held.Close()
	held = hold("http://127.0.0.1:1")
	ask("in use: .*; 127.0.0.1:1: dial")
	held.Close()
	held = hold(server.URL)
	ask("needs a password: set PICKUP_PASSWORD$")
	password = "wrong"
	ask("rejects the user pickup or the password$")
	password = "secret"
	c := ask("<nil>")
	if c == nil || c.prefix != "/api" || c.maxBody != 1000 {
		t.Fatalf("the client is %+v", c)
	}
	_, _, err := c.send(t.Context(), http.MethodPost, "/_/transaction", []byte("[]"), "Prefer", "tx=rollback")
	if refused, ok := err.(*refusedError); !ok || refused.status != http.StatusConflict || refused.Detail != "POST /_/transaction has tx=rollback." {
		t.Errorf("the error is %#v", err)
	}
	held.Close()
	store, c, err := openOrAsk(t.Context(), e, path)
	if store == nil || c != nil || err != nil {
		t.Fatalf("a file that no server has: %v, %v, %v", store, c, err)
	}
	store.Close()
}
