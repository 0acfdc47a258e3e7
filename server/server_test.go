package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
	"pickup/server"
	"pickup/server/auth"
)

// open returns a new database and its handler.
func open(t testing.TB, contents string, o server.Options) (*database.DB, http.Handler) {
	t.Helper()
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(contents)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db, server.Handler(db, o)
}

// count returns how often a test repeats something: long times if PICKUP_LONG is
// set, else n times.
func count(n, long int) int {
	if os.Getenv("PICKUP_LONG") != "" {
		return long
	}
	return n
}

// single returns an Auth for one user.
func single(user, password string) *auth.Verifier {
	users, err := auth.SingleUser(user, password)
	if err != nil {
		panic(err) // of this test's own making
	}
	return auth.New(users)
}

// lines parses the output of a JSON logger.
func lines(t *testing.T, log *bytes.Buffer) []map[string]any {
	t.Helper()
	var all []map[string]any
	for dec := json.NewDecoder(log); ; {
		var m map[string]any
		if err := dec.Decode(&m); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

func TestAccessLog(t *testing.T) {
	var log bytes.Buffer
	_, h := open(t, `{"posts":[{"id":1}]}`, server.Options{
		Auth:      single("ruth", "secret"),
		AccessLog: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	r := httptest.NewRequest("GET", "/posts/%0Ax?token=hidden", nil)
	r.Header.Set("X-Request-Id", "abc")
	r.SetBasicAuth("ruth", "secret")
	r.RemoteAddr = "[2001:db8::1]:4711"
	r.Header.Set("X-Forwarded-For", "6.6.6.6")
	h.ServeHTTP(httptest.NewRecorder(), r)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/posts", strings.NewReader(`{}`)))
	long := strings.Repeat("X", 20_000)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(long, "/"+long, nil))
	if log.Len() > 2000 {
		t.Errorf("three requests fill %d bytes of the log", log.Len())
	}

	for _, secret := range []string{"hidden", "secret", "cnV0aDpzZWNyZXQ", "6.6.6.6"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %q: %s", secret, log.String())
		}
	}
	got := lines(t, &log)
	if len(got) != 3 {
		t.Fatalf("%d lines for three requests", len(got))
	}
	for name, want := range map[string]any{
		"id": "abc", "client": "2001:db8::1", "method": "GET", "path": "/posts/%0Ax", "status": 404.0,
	} {
		if got[0][name] != want {
			t.Errorf("%s is %v and not %v", name, got[0][name], want)
		}
	}
	if got[0]["bytes"].(float64) < 50 || got[0]["ms"] == nil {
		t.Errorf("no size or no duration: %v", got[0])
	}
	if got[1]["status"] != 401.0 || got[1]["id"] == "" {
		t.Errorf("the second line is %v", got[1])
	}
}

// A bomb is a body that panics when it is read.
type bomb struct{ with any }

func (b bomb) Read([]byte) (int, error) { panic(b.with) }

// TestPanic lets a handler panic: the details are in the log only.
func TestPanic(t *testing.T) {
	var log, access bytes.Buffer
	_, h := open(t, `{"posts":[]}`, server.Options{
		Log:       slog.New(slog.NewJSONHandler(&log, nil)),
		AccessLog: slog.New(slog.NewJSONHandler(&access, nil)),
	})
	r := httptest.NewRequest("POST", "/posts", bomb{"a line\nand another in /home/ruth"})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)

	if w.Code != 500 || w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("answered %d %v", w.Code, w.Header())
	}
	if body := w.Body.String(); strings.Contains(body, "ruth") || strings.Contains(body, ".go") {
		t.Errorf("the client learns: %s", body)
	}
	got := lines(t, &log)
	if len(got) != 1 || got[0]["id"] != w.Header().Get("X-Request-Id") {
		t.Fatalf("the log has %v, the answer %v", got, w.Header())
	}
	if text := got[0]["error"].(string); !strings.Contains(text, "/home/ruth") || !strings.Contains(text, "server_test.go") {
		t.Errorf("the log has no cause or no stack: %s", text)
	}
	if got := lines(t, &access); len(got) != 1 || got[0]["status"] != 500.0 {
		t.Errorf("the access log has %v", got)
	}
}

// TestAbort checks that http.ErrAbortHandler is passed on to net/http.
func TestAbort(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{})
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("recovered %v", p)
		}
	}()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/posts", bomb{http.ErrAbortHandler}))
}

// TestUnreadBody checks that the body of a request without credentials is not read.
func TestUnreadBody(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{Auth: single("a", "b")})
	body := &countingReader{}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/posts", body))
	if w.Code != 401 || body.n != 0 {
		t.Errorf("answered %d after %d reads", w.Code, body.n)
	}
}

type countingReader struct{ n int }

func (r *countingReader) Read([]byte) (int, error) { r.n++; return 0, errors.New("cut") }

// TestCutBody checks that a body that breaks off is 400 and stores nothing.
func TestCutBody(t *testing.T) {
	db, h := open(t, `{"posts":[]}`, server.Options{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/posts", io.MultiReader(strings.NewReader(`{"a":1}`), &countingReader{})))
	if w.Code != 400 || db.Snapshot().Len("posts") != 0 {
		t.Errorf("answered %d: %s", w.Code, w.Body)
	}
}

// TestOneUser checks that a single user needs exactly that name and password.
func TestOneUser(t *testing.T) {
	for _, c := range []struct {
		user, password string
		good           bool
	}{
		{user: "ruth", password: "söme:thing", good: true},
		{user: "ruth", password: "söme:thin"},
		{user: "ruth", password: ""},
		{user: "rut", password: "söme:thing"},
		{user: "Ruth", password: "söme:thing"},
		{user: "", password: ""},
	} {
		account, pause := login(single("ruth", "söme:thing"), "192.0.2.1:1", c.user, c.password)
		if account != nil != c.good || pause != 0 {
			t.Errorf("%q with %q is not %v", c.user, c.password, c.good)
		}
	}
}

// TestLongURL checks the limit of a URL, which is below that of net/http.
func TestLongURL(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{})
	for size, want := range map[int]int{32 << 10: 200, 32<<10 + 1: 414} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/posts?a="+strings.Repeat("x", size-len("/posts?a=")), nil))
		if w.Code != want {
			t.Errorf("%d bytes: %d", size, w.Code)
		}
	}
}

// TestOneSnapshot checks that a list shows a single state during writes.
func TestOneSnapshot(t *testing.T) {
	db, h := open(t, `{"pairs":[{"id":1,"n":0},{"id":2,"n":0}]}`, server.Options{})
	done := make(chan error)
	go func() {
		for n := range 300 {
			_, err := db.Update(t.Context(), func(tx *database.Tx) error {
				body := jsontext.Value(`{"n":` + string(rune('0'+n%10)) + `}`)
				if _, err := tx.Put(database.Merge, "pairs", "1", body); err != nil {
					return err
				}
				_, err := tx.Put(database.Merge, "pairs", "2", body)
				return err
			})
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/pairs", nil))
		var pairs []struct{ N int }
		if err := json.Unmarshal(w.Body.Bytes(), &pairs); err != nil || len(pairs) != 2 || pairs[0].N != pairs[1].N {
			t.Fatalf("%s: %v", w.Body, err)
		}
	}
}

// TestSlowBody checks that a body that does not arrive in time is 408.
func TestSlowBody(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{})
	web := httptest.NewUnstartedServer(h)
	web.Config.ReadTimeout = 50 * time.Millisecond
	web.Start()
	defer web.Close()
	conn, err := net.Dial("tcp", web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /posts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("answered %s", resp.Status)
	}
}

// TestGoneMeanwhile removes a record by a hand edit between the routing of
// a request and its write, which then is 404.
func TestGoneMeanwhile(t *testing.T) {
	for _, c := range []struct{ remove, method, path, detail string }{
		{remove: "posts", method: "POST", path: "/posts", detail: `no collection \"posts\"`},
		{remove: "posts", method: "PATCH", path: "/posts/1", detail: `no collection \"posts\"`},
		{remove: "comments", method: "POST", path: "/posts/1/comments", detail: `no collection \"comments\"`},
		{remove: "profile", method: "PUT", path: "/profile", detail: `no collection \"profile\"`},
		{remove: "posts to object", method: "POST", path: "/posts", detail: "posts was a list and is not any more"},
		{remove: "", method: "POST", path: "/posts/1/comments", detail: `no record with the id \"1\"`},
		{remove: "", method: "PUT", path: "/posts/1", detail: `no record with the id \"1\"`},
	} {
		mem := storetest.NewMemStore(jsontext.Value(`{"posts":[{"id":1}],"comments":[],"profile":{}}`))
		db, err := database.Open(t.Context(), mem, database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := server.Handler(db, server.Options{})
		// The edit comes while the body is read, after routing. The write meets
		// a conflict and runs again.
		edit := readerFunc(func([]byte) (int, error) {
			change := storage.Change{Collection: c.remove}
			switch c.remove {
			case "":
				change = storage.Change{Collection: "posts", ID: "1"}
			case "posts to object":
				change = storage.Change{Collection: "posts", Value: jsontext.Value("{}")}
			}
			if _, err := mem.Commit(t.Context(), 1, []storage.Change{change}); err != nil {
				t.Fatal(err)
			}
			return 0, io.EOF
		})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, io.MultiReader(strings.NewReader(`{"a":1}`), edit)))
		if w.Code != 404 || !strings.Contains(w.Body.String(), c.detail) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// TestTooLarge checks that the server does not wait for the rest of a body that is
// too large, with and without Content-Length.
func TestTooLarge(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{MaxBody: 10})
	for _, length := range []int64{11, -1} {
		r := httptest.NewRequest("POST", "/posts", strings.NewReader(`{"a":12345}`))
		r.ContentLength = length
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 413 || w.Header().Get("Connection") != "close" {
			t.Errorf("length %d: %d %v", length, w.Code, w.Header())
		}
	}
}

// TestManyFaults sends an array in which every value is invalid. The size of the
// report is limited, and so is the time for which it delays others.
func TestManyFaults(t *testing.T) {
	schema, err := schema.Compile("s.json", []byte(`{"properties":{"c":{"type":"array","items":{"required":["a","b","c","d"]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"c":[]}`)), database.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	h := server.Handler(db, server.Options{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/c", strings.NewReader("["+strings.Repeat("{},", 99_999)+"{}]")))
	if w.Code != 422 || w.Body.Len() > 100_000 || !strings.Contains(w.Body.String(), "not checked from here on") {
		t.Errorf("%d with %d bytes", w.Code, w.Body.Len())
	}
}
