package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
	"pickup/server"
	"pickup/server/auth"
)

// A replica is what a client has built from the events of a stream: records by
// collection and id, objects by name.
type replica map[string]string

// modelSession is what the paths of the session of a model begin with.
const modelSession = "/_/s/test"

// resourceOf returns the path of a resource without session and query.
func resourceOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return strings.TrimPrefix(path, modelSession)
}

// replicaOf returns the replica that has what a GET answers.
func replicaOf(path, body string) replica {
	r := make(replica)
	path = resourceOf(path)
	switch v := jsontext.Value(body); {
	case path == "/db":
		r.database(v)
	case strings.Count(path, "/") == 2 || v.Kind() == '{':
		r["record"] = body
	default:
		r.records(path[1:], v)
	}
	return r
}

func (r replica) database(v jsontext.Value) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(v, &members); err != nil {
		panic(err)
	}
	for name, member := range members {
		if r[name] = "[]"; member.Kind() == '[' {
			r.records(name, member)
		} else {
			r[name] = string(member)
		}
	}
}

func (r replica) records(collection string, v jsontext.Value) {
	var all []jsontext.Value
	if err := json.Unmarshal(v, &all); err != nil {
		panic(err)
	}
	for _, e := range all {
		id, ok := storage.ID(e, "id")
		if !ok {
			id = "#" + string(e)
		}
		r[collection+"/"+id] = string(e)
	}
}

// apply does what a client does: on reset replace, otherwise apply.
func (r replica) apply(path string, e streamEvent) {
	var data struct {
		Collection, ID string
		Record, DB     jsontext.Value
		Records        jsontext.Value
	}
	if err := json.Unmarshal([]byte(e.data), &data, json.MatchCaseInsensitiveNames(true), json.RejectUnknownMembers(false)); err != nil {
		panic(err)
	}
	path = resourceOf(path)
	single := strings.Count(path, "/") == 2 || path == "/profile"
	switch {
	case e.name == "broken", e.name == "mended":
	case e.name == "reset":
		clear(r)
		switch {
		case data.DB != nil:
			r.database(data.DB)
		case data.Records != nil:
			r.records(data.Collection, data.Records)
		case data.Record.Kind() != 'n':
			r["record"] = string(data.Record)
		}
	case single && e.name == "deleted":
		delete(r, "record")
	case single:
		r["record"] = string(data.Record)
	case data.ID == "":
		maps.DeleteFunc(r, func(key, _ string) bool { return key == data.Collection || strings.HasPrefix(key, data.Collection+"/") })
		if e.name != "deleted" {
			r[data.Collection] = string(data.Record)
		}
	case e.name == "deleted":
		delete(r, data.Collection+"/"+data.ID)
	default:
		r[data.Collection+"/"+data.ID] = string(data.Record)
	}
}

// A modelStore is a store whose contents a test can edit and break.
type modelStore interface {
	storage.Store
	Edit(contents jsontext.Value)
	Break(err error)
}

// An editedFile is the store of a file that is edited by hand.
type editedFile struct {
	*filestore.Store
	t       *testing.T
	path    string
	inPlace bool // the next edit does not replace the file
}

// reopen closes the store and opens the file again.
func (f *editedFile) reopen() {
	if f.Store != nil {
		if err := f.Close(); err != nil {
			f.t.Error(err)
		}
	}
	var err error
	if f.Store, err = filestore.Open(f.t.Context(), f.path, filestore.Options{}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *editedFile) Edit(contents jsontext.Value) {
	path := f.path
	if f.inPlace = !f.inPlace; !f.inPlace {
		path += "~"
	}
	err := os.WriteFile(path, contents, 0o644)
	if err == nil && path != f.path {
		err = os.Rename(path, f.path)
	}
	if err != nil {
		f.t.Error(err)
	}
}

func (f *editedFile) Break(error) { f.Edit(jsontext.Value(`{"posts":[{"id":]}`)) }

// A modelServer is a server that is restarted now and then, on one store.
type modelServer struct {
	t     *testing.T
	store modelStore
	paths []string

	mu   sync.Mutex
	db   *database.DB
	web  http.Handler
	stop chan struct{}
	end  func()             // ends the goroutine that follows the store
	want map[string]replica // by path and id of the state: what a GET answered
	last map[string]string  // the id of the last state, by run; nil while there will be others

	shared bool // there are several writers

	compared, cuts atomic.Int64 // states, and connections that clients have lost
}

func (m *modelServer) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stop != nil {
		close(m.stop)
		m.end()
	}
	if f, ok := m.store.(*editedFile); ok {
		f.reopen()
	}
	db, err := database.Open(m.t.Context(), m.store, database.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(m.t.Context())
	var following sync.WaitGroup
	following.Go(func() { db.Follow(ctx) })
	m.db, m.end, m.stop = db, func() { cancel(); following.Wait() }, make(chan struct{})
	m.web = server.Handler(db, server.Options{Stop: m.stop})
}

func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	web := m.web
	m.mu.Unlock()
	web.ServeHTTP(w, r)
}

// do sends a request that may fail while the store is broken.
func (m *modelServer) do(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w
}

// edit replaces the contents as a hand edit does, and waits until they are served.
func (m *modelServer) edit(contents string) {
	m.store.Edit(jsontext.Value(contents))
	m.await(func() bool {
		return m.db.Err() == nil && strings.TrimSpace(m.do("GET", "/db", "").Body.String()) == contents
	})
}

func (m *modelServer) await(done func() bool) {
	m.t.Helper()
	for start := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			m.t.Fatalf("the edit is not served: %.500s, %v", m.do("GET", "/db", "").Body, m.db.Err())
		}
	}
}

// record notes what a GET answers now. It returns the ids by run.
func (m *modelServer) record() map[string]string {
	ids := make(map[string]string)
	for _, path := range m.paths {
		r, w := make(replica), m.do("GET", path, "")
		if w.Code == 200 {
			r = replicaOf(path, strings.TrimSpace(w.Body.String()))
		}
		id := w.Header().Get("Pickup-Revision")
		run, _, _ := strings.Cut(id, "-")
		ids[run] = id
		m.mu.Lock()
		m.want[path+" "+id] = r
		m.mu.Unlock()
	}
	return ids
}

// modelContents returns a random file.
func modelContents(random *rand.Rand) string {
	var b strings.Builder
	b.WriteString(`{"posts":[`)
	n := random.IntN(10)
	if random.IntN(20) == 0 {
		n = 1100 // more than is reported record by record
	}
	for i := range n {
		fmt.Fprintf(&b, `{"id":%d,"n":%d},`, i*2+random.IntN(2), random.IntN(10))
	}
	if random.IntN(5) == 0 {
		fmt.Fprintf(&b, `{"n":%d},{"n":3},`, random.IntN(10)) // without ids
	}
	s := strings.TrimSuffix(b.String(), ",") + "]"
	if random.IntN(4) > 0 {
		s += fmt.Sprintf(`,"profile":{"name":"%d"}`, random.IntN(3))
	}
	if random.IntN(4) == 0 {
		s += fmt.Sprintf(`,"tags":[{"id":"a","n":%d}],"version":%d`, random.IntN(3), random.IntN(3))
	}
	return s + "}"
}

// step does something random.
func (m *modelServer) step(random *rand.Rand) {
	switch n := random.IntN(22); n {
	default:
		m.write(random, n, "")
	case 9:
		m.edit(modelContents(random))
	case 10:
		m.store.Break(&storage.BrokenError{File: "db.json", Line: 1, Column: 1, Reason: "broken"})
		m.await(func() bool { return m.db.Err() != nil })
		if w := m.do("POST", "/posts", `{"n":1}`); w.Code < 500 {
			m.t.Errorf("a POST to a broken file: %d", w.Code)
		}
		m.edit(modelContents(random))
	case 11:
		if random.IntN(4) == 0 {
			m.start()
		}
	case 12, 13:
		m.do("POST", "/_/undo", "")
	case 14:
		m.do("PUT", "/_/snapshots/kept", "")
	case 15:
		m.do("POST", "/_/reset", []string{"", `{"to":"kept"}`}[random.IntN(2)])
	case 16, 17, 18:
		m.write(random, random.IntN(9), modelSession)
	case 19:
		m.do("POST", modelSession+[]string{"/_/undo", "/_/reset"}[random.IntN(2)], "")
	case 20:
		m.do("POST", "/_/sessions/test/commit", "")
	case 21:
		m.do("DELETE", "/_/sessions/test", "") // the next request makes another one
	}
}

// write makes a random change of one of nine kinds through the API, in a session if
// the path of one is given.
func (m *modelServer) write(random *rand.Rand, kind int, session string) {
	id, n := random.IntN(20), random.IntN(10)
	switch kind {
	case 0, 1:
		m.do("POST", session+"/posts", fmt.Sprintf(`{"n":%d}`, n))
	case 2, 3, 4:
		m.do("PATCH", fmt.Sprintf("%s/posts/%d", session, id), fmt.Sprintf(`{"n":%d}`, n))
	case 5:
		m.do("DELETE", fmt.Sprintf("%s/posts/%d", session, id), "")
	case 6:
		m.do("PATCH", session+"/profile", fmt.Sprintf(`{"name":"%d"}`, n))
	case 7:
		third := `{"op":"set","collection":"profile","value":{}}`
		if random.IntN(2) == 0 {
			third = fmt.Sprintf(`{"op":"delete","collection":"posts","id":%d}`, id)
		}
		m.do("POST", session+"/_/transaction", fmt.Sprintf(`[{"op":"create","collection":"posts","record":{"n":%d}},{"op":"set","collection":"profile","value":{"name":"%d"}},%s]`, 9-n, n, third))
	case 8:
		m.do("POST", session+"/_/transaction", `[{"op":"remove","collection":"profile"},{"op":"set","collection":"tags","value":[{"id":"b"}]}]`)
	}
}

// follow is a client: it builds a replica from a stream, loses the connection
// now and then, and continues. It returns when it has the last state.
func (m *modelServer) follow(web *httptest.Server, path string, random *rand.Rand) error {
	state, id := make(replica), ""
	for {
		ctx, cancel := context.WithCancel(m.t.Context())
		r, err := http.NewRequestWithContext(ctx, "GET", web.URL+path, nil)
		if err != nil {
			panic(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		if id != "" {
			r.Header.Set("Last-Event-ID", id)
		}
		response, err := web.Client().Do(r)
		if err != nil {
			cancel()
			return err
		}
		if response.StatusCode != 200 { // what it is about is not there at present
			clear(state)
			time.Sleep(time.Millisecond) // before the next try
		} else if err := m.read(newEventReader(response.Body), path, state, &id, random); err != errCut {
			cancel()
			response.Body.Close()
			return err
		} else {
			m.cuts.Add(1)
		}
		cancel()
		response.Body.Close()
	}
}

var errCut = io.ErrUnexpectedEOF

// read reads events until the connection ends, or is cut. It is not cut any more
// when the last state is known: a transaction of many events would never arrive.
func (m *modelServer) read(events *eventReader, path string, state replica, id *string, random *rand.Rand) error {
	for m.ends() || random.IntN(15) > 0 {
		e, err := events.next()
		if err != nil {
			return errCut
		}
		if e.name != "" {
			state.apply(path, e)
		}
		if e.id == "" {
			continue
		}
		*id = e.id
		if last, err := m.compare(path, e.id, state); last || err != nil {
			return err
		}
	}
	return errCut
}

// ends reports whether the last state is known.
func (m *modelServer) ends() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last != nil
}

// compare compares the state of a client at an id with what a GET answered, and
// reports whether it is the last. If others write meanwhile, there may be no such
// GET: then it is compared with the states of other clients and later GETs.
func (m *modelServer) compare(path, id string, state replica) (last bool, err error) {
	run, _, _ := strings.Cut(id, "-")
	key := path + " " + id
	for {
		m.mu.Lock()
		if at := m.last[run]; isLater(id, at) { // the store has counted once more, without a change
			id, key = at, path+" "+at
		}
		want, ok := m.want[key]
		if !ok && m.shared {
			want, ok = maps.Clone(state), true
			m.want[key] = want
		}
		last := id == m.last[run]
		m.mu.Unlock()
		if ok && !maps.Equal(want, state) {
			return false, fmt.Errorf("%s at %s: the client has\n%v\nand a GET or another client\n%v", path, id, state, want)
		}
		if ok {
			m.compared.Add(1)
			return last, nil
		}
		time.Sleep(time.Millisecond) // the server is faster than the one who records
	}
}

// isLater reports whether an id is of a later revision of the same run.
func isLater(id, last string) bool {
	run, rev, _ := strings.Cut(id, "-")
	lastRun, lastRev, _ := strings.Cut(last, "-")
	n, _ := strconv.Atoi(rev)
	m, _ := strconv.Atoi(lastRev)
	return run == lastRun && n > m
}

// TestStreamModel writes, edits, breaks, undoes, resets and restarts at random, and
// so in a session, which is committed and ended now and then. Clients lose their
// connections. At each id the state of a client is what a GET answered at that
// revision, in the database or in the session.
func TestStreamModel(t *testing.T) {
	const contents = `{"posts":[{"id":3,"n":9}],"profile":{"name":"x"}}`
	for _, test := range []struct {
		name  string
		steps int
		store func(t *testing.T) modelStore
	}{
		{name: "memory", steps: count(100, 5000), store: func(t *testing.T) modelStore { return storetest.NewMemStore(jsontext.Value(contents)) }},
		{name: "file", steps: count(60, 1000), store: func(t *testing.T) modelStore {
			f := &editedFile{t: t, path: filepath.Join(t.TempDir(), "db.json")}
			f.Edit(jsontext.Value(contents))
			return f
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := &modelServer{t: t, store: test.store(t), want: make(map[string]replica), paths: []string{
				"/posts", "/posts?n_gte=5", "/posts?n_gte=5&_fields=id", "/posts?_where=" + url.QueryEscape(`{"or":[{"n":{"lt":2}},{"n":{"gt":7}}]}`),
				"/posts?q=3", "/posts/3", "/posts/4?_fields=n", "/profile", "/db",
				modelSession + "/posts?n_gte=5&_fields=id", modelSession + "/posts/3", modelSession + "/profile", modelSession + "/db",
			}}
			m.run(test.steps)
			t.Logf("%d steps, %d states compared, %d connections lost", test.steps, m.compared.Load(), m.cuts.Load())
		})
	}
}

// run takes steps while clients follow.
func (m *modelServer) run(steps int) {
	random := rand.New(rand.NewPCG(14, 1))
	m.start()
	m.record()
	m.serve(func() {
		for range steps {
			m.step(random)
			m.record()
			time.Sleep(time.Duration(random.IntN(2)) * time.Millisecond) // so that clients see some of the states
		}
	})
}

// serve has clients follow each path while change runs, and until they have the
// last state.
func (m *modelServer) serve(change func()) {
	web := httptest.NewServer(m)
	defer web.Close()
	defer func() { // also if a step fails
		close(m.stop)
		m.end()
	}()
	var clients sync.WaitGroup
	for i, path := range append(m.paths, m.paths...) {
		clients.Go(func() {
			if err := m.follow(web, path, rand.New(rand.NewPCG(14, uint64(i)))); err != nil {
				m.t.Error(err)
			}
		})
	}
	change()
	// Everybody gets an event of the last state, and so knows that it is the last.
	m.edit(`{"posts":[],"profile":{"name":"before"}}`)
	m.do("POST", modelSession+"/_/transaction", `[{"op":"set","collection":"posts","value":[]},{"op":"set","collection":"profile","value":{"name":"before"}}]`)
	m.record()
	m.edit(`{"posts":[{"id":3,"n":9},{"id":4,"n":33}],"profile":{"name":"last"}}`)
	m.do("POST", modelSession+"/_/transaction", `[{"op":"set","collection":"posts","value":[{"id":3,"n":9}]},{"op":"set","collection":"profile","value":{"name":"last"}}]`)
	last := m.record()
	m.mu.Lock()
	m.last = last
	m.mu.Unlock()
	clients.Wait()
}

// TestStreamResume has several writers, whose changes share commits, and clients
// that lose their connections and continue. At each id all clients have the same
// state, and the same as a GET.
func TestStreamResume(t *testing.T) {
	t.Parallel()
	f := &editedFile{t: t, path: filepath.Join(t.TempDir(), "db.json")}
	f.Edit(jsontext.Value(`{"posts":[{"id":3,"n":9}],"profile":{"name":"x"}}`))
	m := &modelServer{t: t, store: f, shared: true, want: make(map[string]replica), paths: []string{
		"/posts", "/posts?n_gte=5", "/posts/3", "/profile", "/db",
	}}
	m.start()
	var gets int
	m.serve(func() {
		var writers sync.WaitGroup
		defer writers.Wait()
		for w := range 4 {
			writers.Go(func() {
				random := rand.New(rand.NewPCG(14, uint64(w)))
				for m.cuts.Load() < int64(count(100, 1000)) && !t.Failed() {
					m.write(random, random.IntN(9), "")
				}
			})
		}
		for m.cuts.Load() < int64(count(100, 1000)) && !t.Failed() {
			path := m.paths[gets%len(m.paths)]
			w, state := m.do("GET", path, ""), make(replica)
			if w.Code == 200 {
				state = replicaOf(path, strings.TrimSpace(w.Body.String()))
			}
			if _, err := m.compare(path, w.Header().Get("Pickup-Revision"), state); err != nil {
				t.Error(err)
			}
			gets++
			time.Sleep(time.Millisecond) // leaves the processor to the writers
		}
	})
	t.Logf("%d revisions, %d connections lost, %d states compared with %d GETs and each other", m.db.Snapshot().Rev(), m.cuts.Load(), m.compared.Load(), gets)
}

// openEvents opens a stream.
func openEvents(t *testing.T, client *http.Client, url string) *eventReader {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 {
		t.Fatalf("%s: %s", url, response.Status)
	}
	t.Cleanup(func() { response.Body.Close() })
	return newEventReader(response.Body)
}

// nextEvent fails unless the next event is called name. Lines that only say the
// place are skipped.
func nextEvent(t *testing.T, r *eventReader, name string) streamEvent {
	t.Helper()
	e, err := r.next()
	for err == nil && e.name == "" {
		e, err = r.next()
	}
	if err != nil || e.name != name {
		t.Fatalf("%s, %v instead of %s", e, err, name)
	}
	return e
}

// TestStreamRevoked: the streams of a user end when the user is gone or has another
// password; those of others go on.
func TestStreamRevoked(t *testing.T) {
	anna, bert, carl := line(t, "anna", "x"), line(t, "bert", "y"), line(t, "carl", "z")
	verifier, stop := auth.New(usersOf(t, anna+bert+carl)), make(chan struct{})
	db, h := open(t, `{"posts":[{"id":1}]}`, server.Options{Auth: verifier, Requests: true, Stop: stop})
	web := httptest.NewServer(h)
	defer web.Close()
	defer close(stop)
	as := func(user, path string) *eventReader {
		r := openEvents(t, web.Client(), strings.Replace(web.URL, "//", "//"+user+"@", 1)+path)
		nextEvent(t, r, "reset")
		return r
	}
	var revoked []*eventReader
	for _, path := range []string{"/posts", "/posts/1", "/db", "/_/changes?_since=x-1", "/_/changes?_since=x-1&_requests=0", "/_/s/test/posts"} {
		revoked = append(revoked, as("anna:x", path), as("bert:y", path))
	}
	stays, requests := as("carl:z", "/posts"), as("carl:z", "/_/changes?_since=x-1&_requests=0")
	verifier.SetUsers(usersOf(t, line(t, "anna", "new")+carl))
	for i, r := range revoked {
		ended := time.AfterFunc(10*time.Second, web.CloseClientConnections)
		for err := error(nil); err != io.EOF; {
			if _, err = r.next(); err != nil && err != io.EOF {
				t.Fatalf("stream %d: %v", i, err)
			}
		}
		ended.Stop()
	}
	nextEvent(t, requests, "requests")
	setNumber(t, db, 1, "")
	nextEvent(t, stays, "updated")
	nextEvent(t, requests, "change")
	as("anna:new", "/posts")
	nextEvent(t, requests, "request")
}

// setNumber writes a record.
func setNumber(t *testing.T, db *database.DB, n int, padding string) {
	t.Helper()
	if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
		_, err := tx.Put(database.Replace, "posts", "1", jsontext.Value(fmt.Sprintf(`{"id":1,"n":%d,"padding":%q}`, n, padding)))
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestStreamTimeouts: the timeouts of the server are for requests and writes, not
// for streams that have nothing to send, over HTTP/1.1 and HTTP/2.
func TestStreamTimeouts(t *testing.T) {
	// awaitTimeout returns when the server closes a connection with half a request, because
	// the time to read it is over.
	awaitTimeout := func(t *testing.T, web *httptest.Server) {
		t.Helper()
		conn, err := tls.Dial("tcp", web.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "GET / HTTP/1.1\r\n")
		_, _ = io.ReadAll(conn) // an answer, or a reset
	}
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			stop := make(chan struct{})
			db, h := open(t, `{"posts":[{"id":1}]}`, server.Options{Stop: stop})
			web := httptest.NewUnstartedServer(h)
			web.EnableHTTP2 = protocol == "HTTP/2.0"
			web.Config.ReadTimeout, web.Config.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
			web.StartTLS()
			defer web.Close()
			if !web.EnableHTTP2 {
				web.Client().Transport.(*http.Transport).TLSNextProto = make(map[string]func(string, *tls.Conn) http.RoundTripper)
			}
			one, two := openEvents(t, web.Client(), web.URL+"/posts"), openEvents(t, web.Client(), web.URL+"/posts/1")
			nextEvent(t, one, "reset")
			nextEvent(t, two, "reset")
			awaitTimeout(t, web)
			setNumber(t, db, 2, "")
			nextEvent(t, one, "updated")
			nextEvent(t, two, "updated")
			close(stop)
			if _, err := one.next(); err != io.EOF {
				t.Errorf("after the stop: %v", err)
			}
		})
	}
}

// TestStreamNotRead: a client that does not read loses its connection, and
// others get every event.
func TestStreamNotRead(t *testing.T) {
	metrics := server.NewMetrics()
	stop := make(chan struct{})
	db, h := open(t, `{"posts":[{"id":1}]}`, server.Options{Metrics: metrics, Stop: stop})
	web := httptest.NewUnstartedServer(h)
	web.Config.WriteTimeout = time.Second
	web.Start()
	defer web.Close()
	defer close(stop)

	dead, err := net.Dial("tcp", web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	if err := dead.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(dead, "GET /posts HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
	alive := openEvents(t, web.Client(), web.URL+"/posts")
	nextEvent(t, alive, "reset")
	padding := strings.Repeat("x", 256<<10)
	for i := range 40 { // more than the buffers of the system hold
		setNumber(t, db, i, padding)
		if e := nextEvent(t, alive, "updated"); !strings.Contains(e.data, fmt.Sprintf(`"n":%d,`, i)) {
			t.Fatalf("event %d is %.100s", i, e.data)
		}
	}
	shows := func(line string) bool {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/_/metrics", nil))
		return strings.Contains(w.Body.String(), "\n"+line+"\n")
	}
	for start := time.Now(); !shows("pickup_streams_dropped_total 1") || !shows("pickup_streams 1"); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatal("the client that does not read is not dropped")
		}
	}
	setNumber(t, db, 40, "")
	nextEvent(t, alive, "updated")
}

// A flushWriter is a ResponseWriter that can be read meanwhile.
type flushWriter struct {
	mu     sync.Mutex
	header http.Header
	body   bytes.Buffer
}

func (w *flushWriter) Header() http.Header { return w.header }
func (w *flushWriter) WriteHeader(int)     {}
func (w *flushWriter) Flush()              {}
func (w *flushWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.body.Write(p)
}

func (w *flushWriter) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.body.String()
	w.body.Reset()
	return s
}

// TestStreamTooMuch changes a large record for streams with different filters. Some
// end, so that the server does not need memory for all at once. They can resume.
func TestStreamTooMuch(t *testing.T) {
	db, h := open(t, `{"posts":[{"id":1}]}`, server.Options{})
	web := httptest.NewServer(h)
	defer web.CloseClientConnections()
	streams := make(map[string]*eventReader)
	var last streamEvent
	for i := range 24 {
		url := fmt.Sprintf("%s/posts?id_ne=%d", web.URL, 100+i)
		streams[url] = openEvents(t, web.Client(), url)
		last = nextEvent(t, streams[url], "reset")
	}
	setNumber(t, db, 1, strings.Repeat("x", 4<<20)) // 96 MiB in all
	var ended []*eventReader
	sent := 0
	for url, stream := range streams {
		e, err := stream.next()
		if err == nil && e.name == "updated" {
			sent += len(e.data)
			continue
		}
		if err == nil {
			t.Fatalf("the next event is %s", e.name)
		}
		resumed := openEvents(t, web.Client(), url+"&_since="+last.id)
		nextEvent(t, resumed, "updated")
		ended = append(ended, resumed)
	}
	if sent < 4<<20 || sent > 70<<20 { // 64 MiB, or as much as two seconds allow
		t.Errorf("%d MiB were encoded at once", sent>>20)
	}
	setNumber(t, db, 2, "")
	for _, stream := range ended {
		nextEvent(t, stream, "updated")
	}
}

// TestStreamPlace: every 15 seconds a stream sends its place, also if all changes
// are about others.
func TestStreamPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t, `{"posts":[{"id":1}],"tags":[{"id":1}]}`, server.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		w := &flushWriter{header: make(http.Header)}
		r := httptest.NewRequestWithContext(ctx, "GET", "/tags?_since=now", nil)
		r.Header.Set("Accept", "text/event-stream")
		go h.ServeHTTP(w, r)
		synctest.Wait()
		place := func(rev int) string { return fmt.Sprintf("id: %s-%d\n\n", db.Run(), rev) }
		if got, want := w.take(), "retry: 1000\n\n"+place(1); got != want {
			t.Errorf("it begins with %q and not %q", got, want)
		}
		setNumber(t, db, 1, "")
		synctest.Wait()
		if got := w.take(); got != "" {
			t.Errorf("a change of others sends %q", got)
		}
		for range 2 {
			time.Sleep(15 * time.Second)
			synctest.Wait()
			if got := w.take(); got != place(2) {
				t.Errorf("after 15 seconds it sends %q and not %q", got, place(2))
			}
		}
		cancel()
		synctest.Wait()
	})
}

// TestStreamOthers: a stream of all changes has the event status a moment after other
// streams open or close, once for many, if it has asked for that. No other stream has it.
func TestStreamOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, h := open(t, `{"posts":[{"id":1}]}`, server.Options{})
		follow := func(path string) (*flushWriter, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			w := &flushWriter{header: make(http.Header)}
			r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
			r.Header.Set("Accept", "text/event-stream")
			go h.ServeHTTP(w, r)
			synctest.Wait()
			return w, cancel
		}
		all, leave := follow("/_/changes?_since=now&_streams=1")
		all.take()
		var others []context.CancelFunc
		report := func(when, want string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			if got := all.take(); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		report("alone", "")
		for _, path := range []string{"/posts?_since=now", "/posts?_since=now", "/_/changes?_since=now", "/_/changes?_fields=id&_since=now"} {
			other, leave := follow(path)
			others = append(others, leave)
			other.take()
			defer func() {
				if got := other.take(); got != "" {
					t.Errorf("%s has %q", path, got)
				}
			}()
		}
		report("others open", "event: status\ndata: {}\n\n")
		report("nothing happens", "")
		for _, leave := range others {
			leave()
		}
		report("they close", "event: status\ndata: {}\n\n")
		leave()
		synctest.Wait()
	})
}

// TestStreamHistory: a client that was away for more revisions than there are in
// the history, or for an edit of many records, gets the state.
func TestStreamHistory(t *testing.T) {
	db, h := open(t, `{"posts":[{"id":1}],"tags":[]}`, server.Options{})
	first := fmt.Sprintf("%s-%d", db.Run(), db.Snapshot().Rev())
	resume := func(path string) string {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Last-Event-ID", first)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return strings.TrimPrefix(w.Body.String(), "retry: 1000\n\n")
	}
	for i := range 1000 {
		setNumber(t, db, i, "")
	}
	if got := resume("/posts"); strings.Count(got, "event: updated\nid: ") != 1000 || strings.Contains(got, "reset") {
		t.Errorf("after 1,000 revisions: %.200s", got)
	}
	if got := resume("/tags"); got != fmt.Sprintf("id: %s-%d\n\n", db.Run(), db.Snapshot().Rev()) {
		t.Errorf("without news: %.200s", got)
	}
	for i := range 100 {
		setNumber(t, db, i, "")
	}
	want := fmt.Sprintf("event: reset\nid: %s-%d\n", db.Run(), db.Snapshot().Rev()) +
		`data: {"collection":"posts","records":[{"id":1,"n":99,"padding":""}]}` + "\n\n"
	if got := resume("/posts"); got != want {
		t.Errorf("after 1,100 revisions: %.200s", got)
	}
	if got := resume("/_/changes"); !strings.HasPrefix(got, "event: reset\nid: ") {
		t.Errorf("of the changes: %.200s", got)
	}
}
