//go:build !nomcp

package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
	"pickup/server"
	"pickup/server/auth"
	"pickup/server/envelope"
	"pickup/server/simulate"
)

// A toolbox is a client of MCP.
type toolbox struct {
	testing.TB
	*mcp.ClientSession
}

// connect connects with the tools at a path of a server that it starts; header are headers of
// its requests.
func connect(t testing.TB, far *httptest.Server, path string, header ...string) toolbox {
	t.Helper()
	client := &http.Client{Transport: withHeaders(header)}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: far.URL + path, DisableStandaloneSSE: true, HTTPClient: client}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return toolbox{t, s}
}

type withHeaders []string

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for i := 0; i < len(h); i += 2 {
		r.Header.Set(h[i], h[i+1])
	}
	return http.DefaultTransport.RoundTrip(r)
}

// call calls a tool with arguments, a JSON object.
func (b toolbox) call(name, arguments string) (text string, refused bool) {
	b.Helper()
	r, err := b.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error(), true
	}
	for _, x := range r.Content {
		text += x.(*mcp.TextContent).Text
	}
	return text, r.IsError
}

func (b toolbox) tools() (names string, size int) {
	list, err := b.ListTools(context.Background(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, tool := range list.Tools {
		names += tool.Name + " "
	}
	text, err := json.Marshal(list.Tools)
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(names), len(text)
}

// A step is a call with what its answer has, and has not.
type step struct {
	tool, arguments string
	has             []string
	refused         bool
}

func (b toolbox) run(steps []step) {
	b.Helper()
	for _, s := range steps {
		text, refused := b.call(s.tool, s.arguments)
		if refused != s.refused {
			b.Errorf("%s %s: refused is %t: %s", s.tool, s.arguments, refused, text)
		}
		for _, part := range s.has {
			if !strings.Contains(text, part) {
				b.Errorf("%s %s has not %q:\n%s", s.tool, s.arguments, part, text)
			}
		}
		if strings.Contains(text, "/tmp") {
			b.Errorf("%s %s leaks a path: %s", s.tool, s.arguments, text)
		}
	}
}

const (
	agentData = `{"posts":[{"id":1,"title":"One","n":1.10},{"id":2,"title":"Two"}],"comments":[{"id":1,"postId":1}],"profile":{"name":"typing"}}`
	agentUser = "Basic YW5uYTpzZWNyZXQ="
)

// agentSteps use each tool.
var agentSteps = []step{
	{"query", `{"collection":"posts","sort":"-id","fields":"id,title","limit":1}`, []string{"1 of 2 records; the next ones start at start=1", `{"id":2,"title":"Two"}`}, false},
	{"query", `{"collection":"posts","where":"title=One","embed":"comments"}`, []string{"1 of 1 records\n", `"n":1.10`, `"postId":1`}, false},
	{"query", `{"collection":"posts","id":"1"}`, []string{`{"id":1,"title":"One","n":1.10}`}, false},
	{"query", `{"collection":"profile"}`, []string{`{"name":"typing"}`}, false},
	{"query", `{"collection":"post"}`, []string{"404 Not Found", "Did you mean posts?"}, true},
	{"query", `{"collection":"posts","where":"titel=One"}`, []string{"400 Bad Request", "title"}, true},
	{"query", `{"collection":"posts","start":-1}`, []string{"start is -1: it must be 0 or more"}, true},
	{"query", `{"collection":"posts","id":1}`, []string{`{"id":1,"title":"One","n":1.10}`}, false},
	{"query", `{"collection":"_","id":"sessions"}`, []string{`404 Not Found: There is no collection "_". There are: posts, comments, profile.`}, true},
	{"query", `{"collection":"db"}`, []string{"404 Not Found"}, true},
	{"query", `{"collection":"..","id":"_"}`, []string{"404 Not Found"}, true},
	{"query", `{"collection":"posts","id":"../_/sessions"}`, []string{"404 Not Found"}, true},
	{"query", `{"collection":"posts","limit":-1}`, []string{"limit is -1: it must be 1 or more"}, true},
	{"changes", `{"limit":-1}`, []string{"limit is -1"}, true},
	{"requests", `{"limit":-1}`, []string{"limit is -1"}, true},
	{"query", `{"collection":"posts","where":"_fault=connection-reset"}`, []string{"_fault has no effect here"}, true},
	{"query", `{"collection":"posts","filter":"title=One"}`, []string{`unknown field "filter"; the arguments of query are collection, embed, fields, id, limit`}, true},
	{"describe", `{}`, []string{"posts: 2 records, the id is id", "comments.postId refers to posts", "profile: an object", `type Post = {`}, false},
	{"describe", `{"collection":"posts"}`, []string{`"properties"`, `"title"`}, false},
	{"check", `{}`, []string{"findings"}, false},
	{"requests", `{}`, []string{`"method":"GET","path":"`, `/posts","query":"a=1"`, `"status":404`}, false},
	{"requests", `{"failed":true,"limit":1}`, []string{`/noRoute"`, `"status":404`, "There is no collection"}, false},
}

var writingSteps = []step{
	{"write", `{"changes":[{"op":"create","collection":"posts","record":{"title":"Three"}},{"op":"update","collection":"posts","id":"1","record":{"title":"Uno"}},
		{"op":"delete","collection":"comments","id":"1"},{"op":"update","collection":"profile","record":{"theme":"dark"}}],"try":true}`, []string{"not stored", `"Three"`, `"n":1.10`}, false},
	{"changes", `{}`, nil, false},
	{"write", `{"changes":[{"op":"update","collection":"posts","id":2,"record":{"title":"Deux","n":2.50}}]}`, []string{"stored as revision ", `{"id":2,"title":"Deux","n":2.50}`}, false},
	{"changes", `{"limit":1}`, []string{`updated posts/2 n:  -> 2.50; title: "Two" -> "Deux";`}, false},
	{"undo", `{}`, []string{`"undone"`}, false},
	{"query", `{"collection":"posts","id":"2"}`, []string{`{"id":2,"title":"Two"}`}, false},
	{"write", `{"changes":[{"op":"update","collection":"posts","id":"9","record":{}},{"op":"create","collection":"post","record":{}},{"op":"patch","collection":"posts","record":{}},
		{"op":"delete","collection":"profile"},{"op":"update","collection":"posts","record":{}}]}`,
		[]string{"404 Not Found", "Nothing was changed.", `/0/id: posts has no record with the id "9"`, "/1/collection: ", "did you mean posts?", "/2/op: ", "/3/id: ", "/4/id: the id of the record is missing"}, true},
	{"write", `{"changes":[{"op":"create","collection":"posts","record":{"a":1,"a":2}}]}`, []string{"500 ", `duplicate name "a"`}, true},
	{"write", `{"changes":[{"op":"rename","collection":"posts","field":"title","to":"name"},{"op":"set","collection":"tags","value":[{"n":1.10}]}],"try":true}`, []string{"not stored", `"n":1.10`}, false},
	{"generate", `{"collections":{"posts":3},"seed":7}`, []string{`"made"`}, false},
	{"query", `{"collection":"posts","limit":1}`, []string{"1 of 5 records"}, false},
	{"simulate", `{"rules":[{"path":"/posts/**","code":503,"times":1}]}`, []string{`"code":503`}, false},
	{"query", `{"collection":"posts","id":"1"}`, []string{`"One"`}, false},
	{"simulate", `{"rules":[{"path":"/x","body":{"n":1.10,"id":12345678901234567890}}]}`, []string{`1.10`, `12345678901234567890`}, false},
	{"simulate", `{"rules":[{"path":"/posts","cod":503}]}`, []string{"422", "/0/cod"}, true},
	{"write", `{"changes":[]}`, []string{"changes is missing"}, true},
	{"query", `{}`, []string{"collection is missing"}, true},
	{"query", `{"collection":"posts","offset":3}`, []string{"offset"}, true},
	{"simulate", `{"rules":[]}`, []string{"[]"}, false},
}

// TestAgentTools uses each tool in a session, directly, with a password, below a prefix, and
// where answers have an envelope.
func TestAgentTools(t *testing.T) {
	for _, test := range []struct {
		name, path, prefix string
		header             []string
		answers            *envelope.Form
	}{
		{name: "session", path: "/_/s/agent/_/mcp"},
		{name: "direct", path: "/_/mcp"},
		{name: "prefix", path: "/_/s/agent/_/mcp", prefix: "/api"},
		{name: "password", path: "/_/s/agent/_/mcp", header: []string{"Authorization", agentUser}},
		{name: "envelope", path: "/_/s/agent/_/mcp", answers: &envelope.Form{List: "data", Total: "total", Record: "record"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := server.Options{Requests: true, Simulate: new(server.Simulation), Prefix: test.prefix, Findings: noFindings{}, Answers: test.answers}
			if test.header != nil {
				o.Auth = auth.New(usersOf(t, line(t, "anna", "secret")))
			}
			db, web := open(t, agentData, o)
			far := httptest.NewServer(web)
			t.Cleanup(far.Close)
			for _, path := range []string{"/posts?a=1", "/noRoute"} {
				in(web, "", "GET", test.prefix+path, "", test.header...)
			}
			before := string(db.Snapshot().AppendJSON(nil))
			b := connect(t, far, test.path, test.header...)
			if names, size := b.tools(); strings.Count(names, " ") != 8 || size > 4600 {
				t.Errorf("%d bytes describe %s", size, names)
			}
			b.run(append(agentSteps, writingSteps...))
			if after := string(db.Snapshot().AppendJSON(nil)); (after == before) != (test.name != "direct") {
				t.Errorf("the database is %s", after)
			}
			list := in(web, "", "GET", "/_/sessions", "", test.header...).Body.String()
			if test.name != "direct" && !strings.Contains(list, `"changes":3,"kept":true`) {
				t.Errorf("the sessions are %s", list)
			}
			if text := in(web, "", "GET", "/_/requests", "", test.header...).Body.String(); strings.Count(text, `"id"`) != 2 {
				t.Errorf("the requests of the agent are among those of the front end: %s", text)
			}
		})
	}
}

// TestAgentNested reads and writes nested values with a path, in a session and where there is an
// envelope and a prefix.
func TestAgentNested(t *testing.T) {
	const data = `{"lists":[{"id":"a/b","videos":[{"id":1,"n":1.10},{"id":2,"n":2}],"tags":["x","y"],"owner":{"name":"Ann","":5}}],
		"conf":{"a":{"b":[{"id":"x"}]}},"notes":[{"id":1,"listId":"a/b"}]}`
	db, web := open(t, data, server.Options{Prefix: "/api", Answers: &envelope.Form{List: "data", Total: "total", Record: "record"}})
	before := string(db.Snapshot().AppendJSON(nil))
	far := httptest.NewServer(web)
	t.Cleanup(far.Close)
	steps := []step{
		{"query", `{"collection":"lists","id":"a/b","path":["videos"],"where":"n:gte=1","sort":"-n","fields":"id","limit":1}`,
			[]string{"1 of 2 records; the next ones start at start=1\n{\"id\":2}\n"}, false},
		{"query", `{"collection":"lists","id":"a/b","path":["videos"],"start":1}`, []string{"1 of 2 records\n{\"id\":2,\"n\":2}\n"}, false},
		{"query", `{"collection":"lists","id":"a/b","path":["videos"],"start":9}`, []string{"0 of 2 records\n"}, false},
		{"query", `{"collection":"lists","id":"a/b","path":["videos"],"start":9223372036854775807}`, []string{"0 of 2 records\n"}, false},
		{"query", `{"collection":"lists","id":"a/b","path":["videos","1"]}`, []string{`{"id":1,"n":1.10}`}, false},
		{"query", `{"collection":"lists","id":"a/b","path":["videos","1","n"]}`, []string{"1.10"}, false},
		{"query", `{"collection":"lists","id":"a/b","path":["tags"]}`, []string{"2 of 2 records\n\"x\"\n\"y\"\n"}, false},
		{"query", `{"collection":"lists","id":"a/b","path":["owner"],"fields":"name"}`, []string{`{"name":"Ann"}`}, false},
		{"query", `{"collection":"lists","id":"a/b","path":["notes"]}`, []string{"1 of 1 records\n{\"id\":1"}, false},
		{"query", `{"collection":"conf","path":["a","b","x"]}`, []string{`{"id":"x"}`}, false},
		{"query", `{"collection":"lists","path":["videos"]}`, []string{"path leads on from a record: id is missing"}, true},
		{"query", `{"collection":"lists","id":"a/b","path":["vidoes"]}`, []string{"404 Not Found", `/lists/a%2Fb has no field "vidoes"; did you mean "videos"?`}, true},
		{"query", `{"collection":"lists","id":"a/b","path":["owner",""]}`, []string{"path has an empty name"}, true},
		{"query", `{"collection":"lists","id":"a/b","path":["..","..","_","sessions"]}`, []string{"404 Not Found"}, true},
		{"query", `{"collection":"lists","id":"a/b","path":["videos/1"]}`, []string{"404 Not Found"}, true},
		{"query", `{"collection":"lists","id":"a/b","path":["videos",1]}`, []string{"the arguments of query are"}, true},
		{"query", `{"collection":"lists","id":"a/b","path":["tags"],"sort":"x"}`, []string{"400 Bad Request", "_sort"}, true},
		{"write", `{"try":true,"changes":[{"op":"create","collection":"lists","id":"a/b","path":["videos"],"record":{"n":3}}]}`,
			[]string{"not stored", `{"id":3,"n":3}`}, false},
		{"write", `{"changes":[
			{"op":"create","collection":"lists","id":"a/b","path":["videos"],"record":{"n":3}},
			{"op":"update","collection":"lists","id":"a/b","path":["videos","3"],"record":{"n":1.50},"if":{"n":3}},
			{"op":"set","collection":"lists","id":"a/b","path":["owner",""],"value":6},
			{"op":"delete","collection":"conf","path":["a","b","x"]}]}`, []string{"stored as revision", `{"id":3,"n":1.50}`, "6"}, false},
		{"write", `{"changes":[
			{"op":"update","collection":"lists","id":"a/b","path":["videos","9"],"record":{"n":3}},
			{"op":"set","collection":"lists","id":"a/b","path":["videos","3","id"],"value":9}]}`,
			[]string{"404 Not Found", `/0/path: /lists/a%2Fb/videos has no record with the id "9"`, "/1/path: "}, true},
		{"query", `{"collection":"lists","id":"a/b","path":["videos","3"]}`, []string{`{"id":3,"n":1.50}`}, false},
		{"changes", `{}`, []string{"updated lists/a/b"}, false},
		{"undo", `{}`, []string{`"collection":"lists","id":"a/b","op":"updated"`}, false},
		{"query", `{"collection":"conf","path":["a"]}`, []string{`{"b":[{"id":"x"}]}`}, false},
	}
	for _, path := range []string{"/_/s/agent/_/mcp", "/_/mcp"} {
		connect(t, far, path).run(steps)
		if after := string(db.Snapshot().AppendJSON(nil)); after != before {
			t.Errorf("%s: the database is %s", path, after)
		}
	}
}

// TestAgentReadOnly uses the tools where nobody may write, and as a user who may only read:
// both have the tools that read, and no more.
func TestAgentReadOnly(t *testing.T) {
	as := func(user string) []string {
		return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":secret"))}
	}
	users := auth.New(usersOf(t, line(t, "anna", "secret")+strings.TrimSpace(line(t, "bert", "secret"))+":read-only\n"))
	for _, test := range []struct {
		name    string
		options server.Options
		header  []string
		writes  bool
	}{
		{name: "server", options: server.Options{ReadOnly: true}},
		{name: "user", options: server.Options{Auth: users}, header: as("bert")},
		{name: "other user", options: server.Options{Auth: users}, header: as("anna"), writes: true},
		{name: "user of a read-only server", options: server.Options{ReadOnly: true, Auth: users}, header: as("anna")},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.Requests, test.options.Simulate, test.options.Findings = true, new(server.Simulation), noFindings{}
			db, web := open(t, agentData, test.options)
			far := httptest.NewServer(web)
			t.Cleanup(far.Close)
			before := string(db.Snapshot().AppendJSON(nil))
			for _, path := range []string{"/_/mcp", "/_/s/agent/_/mcp"} {
				b := connect(t, far, path, test.header...)
				want := "changes check describe query requests"
				if test.writes {
					want = "changes check describe generate query requests simulate undo write"
				}
				if names, _ := b.tools(); names != want {
					t.Errorf("%s: the tools are %s", path, names)
				}
				if test.writes {
					continue
				}
				b.run(agentSteps[:6])
				b.run([]step{
					{"describe", `{}`, []string{"You may only read."}, false},
					{"check", `{}`, []string{"0 findings"}, false},
					{"changes", `{}`, nil, false},
					{"write", `{"changes":[{"op":"delete","collection":"posts","id":"1"}]}`, []string{"write"}, true},
					{"undo", `{}`, []string{"undo"}, true},
					{"generate", `{"collections":{"posts":1}}`, []string{"generate"}, true},
					{"simulate", `{"rules":[]}`, []string{"simulate"}, true},
				})
			}
			if after := string(db.Snapshot().AppendJSON(nil)); after != before {
				t.Errorf("the database is %s", after)
			}
		})
	}
}

// TestAgentSession describes and checks the database of a session: its fields, records and
// faults, not those of the database that it was made from.
func TestAgentSession(t *testing.T) {
	s := openScript(t, `{"posts":[{"id":1}],"users":[]}`, `{"properties":{"posts":{"type":"array","items":{"properties":{"id":{},"userId":{"x-ref":"users"}}}}}}`)
	web := server.Handler(s.db, server.Options{Findings: lint.New("db.json", nil, s.db)})
	far := httptest.NewServer(web)
	t.Cleanup(far.Close)
	b := connect(t, far, "/_/s/agent/_/mcp")
	in(web, "", "POST", "/_/s/agent/posts", `{"userId":7}`) // there is no such user
	in(web, "", "POST", "/_/s/agent/_/transaction", `[{"op":"set","collection":"notes","value":[{"id":1,"text":"x"}]}]`)
	for _, test := range []struct{ path, has string }{
		{"/_/types.d.ts", "text"}, {"/_/openapi.json", "/notes/{id}"}, {"/_/llms.txt", "notes (1)"}, {"/_/llms.txt", "/_/s/agent/_/types.d.ts"},
	} {
		session := in(web, "", "GET", "/_/s/agent"+test.path, "")
		if outside := in(web, "", "GET", test.path, ""); !strings.Contains(session.Body.String(), test.has) || strings.Contains(outside.Body.String(), test.has) {
			t.Errorf("%s is %s in the session, and outside\n%s", test.path, session.Body, outside.Body)
		}
	}
	b.run([]step{{"describe", `{}`, []string{"notes: 1 records", "type Note = {"}, false}, {"check", `{}`, []string{"1 findings", "/posts/1/userId"}, false}})
	connect(t, far, "/_/mcp").run([]step{{"check", `{}`, []string{"0 findings"}, false}})
}

// TestAgentRollback calls a tool with Prefer: tx=rollback on the HTTP request, which is refused.
func TestAgentRollback(t *testing.T) {
	db, web := open(t, agentData, server.Options{})
	before := string(db.Snapshot().AppendJSON(nil))
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"changes":[{"op":"delete","collection":"posts","id":1}]}}}`
	for _, prefer := range []string{"tx=rollback", ""} {
		w := in(web, "", "POST", "/_/mcp", call, "Prefer", prefer, "Host", "localhost:3000", "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		refused := w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), "The tool write has try.")
		changed := string(db.Snapshot().AppendJSON(nil)) != before
		if refused != (prefer != "") || changed == refused {
			t.Errorf("%q: %d %s", prefer, w.Code, w.Body)
		}
	}
}

// TestAgentFaults compares the faults of a write by MCP and by HTTP.
func TestAgentFaults(t *testing.T) {
	s := openScript(t, `{"schedules":[{"id":"1","driverId":"1"}],"drivers":[{"id":"1"}]}`, string(readFile(t, "../db.schema.json")))
	far := httptest.NewServer(s.web)
	t.Cleanup(far.Close)
	b := connect(t, far, "/_/mcp")
	for _, record := range []string{`{"status":"Scheduld"}`, `{"title":5,"unknown":1}`, `{"driverId":"99"}`, `{}`, `[]`, `{"id":"1"}`} {
		var p struct {
			Status any
			Errors []struct{ Pointer, Detail string }
		}
		if err := json.Unmarshal(in(s.web, "", "POST", "/schedules", record).Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		text, refused := b.call("write", `{"changes":[{"op":"create","collection":"schedules","record":`+record+`}]}`)
		if refused != (len(p.Errors) > 0 || record == "[]") {
			t.Errorf("%s: refused is %t: %s", record, refused, text)
		}
		for _, f := range p.Errors {
			if !strings.Contains(text, f.Pointer+": "+f.Detail) {
				t.Errorf("%s: HTTP has %s %s, and MCP\n%s", record, f.Pointer, f.Detail, text)
			}
		}
	}
}

// TestAgentBroken checks a file that does not parse.
func TestAgentBroken(t *testing.T) {
	store := storetest.NewMemStore([]byte(agentData))
	db, err := database.Open(t.Context(), store, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	far := httptest.NewServer(server.Handler(db, server.Options{Findings: noFindings{}, Source: func() server.SourceFile { return server.SourceFile{Name: "db.json"} }}))
	t.Cleanup(far.Close)
	go db.Follow(t.Context())
	store.Break(&storage.BrokenError{File: "/home/ruth/db.json", Line: 4, Column: 17, Reason: "there is a comma missing"})
	for start := time.Now(); db.Err() == nil; time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatal("the database did not notice that the store is broken")
		}
	}
	connect(t, far, "/_/mcp").run([]step{{"check", `{}`, []string{"there is a comma missing"}, false}})
}

// TestAgentPages sends calls of each tool from a page on another port: none is served,
// whatever the origins that may use the API.
func TestAgentPages(t *testing.T) {
	for _, origins := range [][]string{nil, {"*"}, {"http://localhost:5173"}} {
		_, web := open(t, agentData, server.Options{CORSOrigins: origins, Requests: true, Simulate: &server.Simulation{Stubs: new(simulate.Stubs)}})
		for _, tool := range []string{"describe", "query", "changes", "check", "requests", "write", "undo", "generate", "simulate"} {
			for _, path := range []string{"/_/mcp", "/_/s/agent/_/mcp"} {
				for _, header := range [][]string{{"Origin", "http://localhost:5173"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "null"}} {
					body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, tool)
					w := in(web, "", "POST", path, body, append(header, "Host", "localhost:3000", "Content-Type", "application/json", "Accept", "application/json, text/event-stream")...)
					if w.Code != http.StatusForbidden {
						t.Errorf("%v %v: %s at %s is answered with %d %s", origins, header, tool, path, w.Code, w.Body)
					}
				}
			}
		}
		if w := in(web, "", "OPTIONS", "/_/mcp", "", "Origin", "http://localhost:5173", "Access-Control-Request-Method", "POST"); w.Code != http.StatusForbidden {
			t.Errorf("%v: a preflight is answered with %d", origins, w.Code)
		}
	}
}

// TestAgentEscapes writes escapes: the text is stored, and a string that is equal already is
// no change.
func TestAgentEscapes(t *testing.T) {
	db, web := open(t, `{"towns":[{"id":1,"name":"Győr"},{"id":2,"name":"P\u00e9cs"}]}`, server.Options{})
	far := httptest.NewServer(web)
	t.Cleanup(far.Close)
	b := connect(t, far, "/_/mcp")
	text, refused := b.call("write", `{"changes":[`+
		`{"op":"create","collection":"towns","record":{"name":"M\u00f3r","n":1.10}},`+
		`{"op":"update","collection":"towns","id":"1","record":{"name":"Gy\u0151r"}},`+
		`{"op":"update","collection":"towns","id":"2","record":{"name":"Pécs"}}]}`)
	if refused {
		t.Fatal(text)
	}
	want := `{"towns":[{"id":1,"name":"Győr"},{"id":2,"name":"P\u00e9cs"},{"id":3,"name":"Mór","n":1.10}]}`
	if got := string(db.Snapshot().AppendJSON(nil)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAgentRandom lets an agent write at random in a session while others write to the
// database, each to records of its own. What is committed is what a model has.
func TestAgentRandom(t *testing.T) {
	db, web := open(t, `{"mine":[],"theirs":[{"id":1,"n":0}]}`, server.Options{})
	far := httptest.NewServer(web)
	t.Cleanup(far.Close)
	b := connect(t, far, "/_/s/agent/_/mcp")
	var done atomic.Bool
	var others sync.WaitGroup
	others.Go(func() {
		for i := 0; !done.Load(); i++ {
			in(web, "", "PATCH", "/theirs/1", fmt.Sprintf(`{"n":%d}`, i))
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	model := make(map[string]int)
	next := 1
	for i := range count(100, 1000) {
		id := strconv.Itoa(1 + random.IntN(next))
		_, known := model[id]
		var text string
		var refused, want bool
		switch random.IntN(5) {
		case 0, 1:
			text, refused = b.call("write", fmt.Sprintf(`{"changes":[{"op":"create","collection":"mine","record":{"id":%d,"n":%d}}]}`, next, i))
			model[strconv.Itoa(next)] = i
			next++
		case 2:
			text, refused = b.call("write", fmt.Sprintf(`{"changes":[{"op":"update","collection":"mine","id":%q,"record":{"n":%d}}]}`, id, i))
			if want = !known; known {
				model[id] = i
			}
		case 3: // all or none
			text, refused = b.call("write", fmt.Sprintf(`{"changes":[{"op":"delete","collection":"mine","id":%q},{"op":"delete","collection":"mine","id":"none"}]}`, id))
			want = true
		case 4:
			text, refused = b.call("write", fmt.Sprintf(`{"changes":[{"op":"delete","collection":"mine","id":%q}]}`, id))
			want = !known
			delete(model, id)
		}
		if refused != want {
			t.Fatalf("call %d for %s: refused is %t: %s", i, id, refused, text)
		}
	}
	done.Store(true)
	others.Wait()
	if n := db.Snapshot().Len("mine"); n != 0 {
		t.Errorf("%d records are in the database before the commit", n)
	}
	if w := in(web, "", "POST", "/_/sessions/agent/commit", ""); w.Code != http.StatusOK {
		t.Fatalf("the commit is answered with %d %s", w.Code, w.Body)
	}
	for id, n := range model {
		r, err := db.Snapshot().Get("mine", id)
		if err != nil || !strings.Contains(string(r.Value), fmt.Sprintf(`"n":%d`, n)) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if n := db.Snapshot().Len("mine"); n != len(model) {
		t.Errorf("there are %d records, and the model has %d", n, len(model))
	}
}
