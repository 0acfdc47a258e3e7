package server_test

import (
	"fmt"
	"strings"
	"testing"

	"pickup/server"
)

// TestLLMsSize reads /_/llms.txt of databases with many collections, relations and long
// names: it stays below 2 KB.
func TestLLMsSize(t *testing.T) {
	many, long := []string{}, []string{}
	for i := range 500 {
		many = append(many, fmt.Sprintf(`"things%d":[{"id":1,"things%dId":1}]`, i, (i+1)%500))
		long = append(long, fmt.Sprintf(`"%s%d":[]`, strings.Repeat("long", 50), i))
	}
	var rules server.SourceFile
	for _, test := range []struct{ data, has string }{
		{`{` + strings.Join(many, ",") + `}`, "things0 (1), "},
		{`{` + strings.Join(long, ",") + `}`, "499 more"},
		{`{}`, "GET /COLLECTION"},
	} {
		_, web := open(t, test.data, server.Options{Requests: true, Simulate: new(server.Simulation),
			Source: func() server.SourceFile { return server.SourceFile{Name: strings.Repeat("x", 250) + ".json"} },
			Rules:  func() *server.SourceFile { return &rules }})
		for _, session := range []string{"", strings.Repeat("s", 64)} {
			path := "/_/llms.txt"
			if session != "" {
				path = "/_/s/" + session + path
			}
			got := in(web, "", "GET", path, "").Body.String()
			if n := len(got); n >= 2000 || session == "" && !strings.Contains(got, test.has) {
				t.Errorf("%s has %d bytes:\n%s", path, n, got)
			}
		}
	}
}

// TestLLMsModes reads what is left out where something is off.
func TestLLMsModes(t *testing.T) {
	for _, test := range []struct {
		options     server.Options
		has, hasNot string
	}{
		{server.Options{}, "POST /posts", "/_/requests"},
		{server.Options{ReadOnly: true, Simulate: new(server.Simulation)}, "GET /posts?", "POST"},
		{server.Options{MaxSessions: -1, Prefix: "/api"}, "POST /api/posts", "/_/sessions"},
	} {
		_, web := open(t, `{"posts":[{"id":1}]}`, test.options)
		if got := in(web, "", "GET", "/_/llms.txt", "").Body.String(); !strings.Contains(got, test.has) || strings.Contains(got, test.hasNot) {
			t.Errorf("%+v: it has not %q, or has %q:\n%s", test.options, test.has, test.hasNot, got)
		}
	}
}

// TestLLMsKeeper reads what keeps the data: a file, a folder, or a cluster.
func TestLLMsKeeper(t *testing.T) {
	folder := func() server.SourceFile { return server.SourceFile{Name: "data", Folder: true} }
	_, web := open(t, `{"posts":[{"id":1}]}`, server.Options{Source: folder})
	for path, has := range map[string][]string{
		"/_/llms.txt":           {"It serves a folder of JSON files", "edit the files of data;"},
		"/_/s/agent/_/llms.txt": {"It serves a folder of JSON files", "nothing reaches the files before"},
	} {
		got := in(web, "", "GET", path, "").Body.String()
		for _, part := range has {
			if !strings.Contains(got, part) {
				t.Errorf("%s has not %q:\n%s", path, part, got)
			}
		}
	}
	inCluster(t, server.Options{}, `{"posts":[{"id":1}]}`, func(t *testing.T, a, _ *peer) {
		if got := a.send("GET", "/_/llms.txt", "").Body.String(); !strings.Contains(got, "It serves a database in an etcd cluster") {
			t.Errorf("in a cluster it is\n%s", got)
		}
	})
}
