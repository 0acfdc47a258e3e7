package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// A peer is a server of a cluster.
type peer struct {
	store *storetest.Replica
	db    *database.DB
	web   http.Handler
}

// inCluster runs a test with two servers of one database.
func inCluster(t *testing.T, o server.Options, contents string, test func(t *testing.T, a, b *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cluster := storetest.NewCluster(jsontext.Value(contents))
		var nodes [2]*peer
		for i := range nodes {
			n := &peer{store: cluster.Replica()}
			o.Metrics = server.NewMetrics()
			var err error
			if n.db, err = database.Open(ctx, o.Metrics.Store(n.store), database.Options{}); err != nil {
				t.Fatal(err)
			}
			go n.db.Follow(ctx)
			n.web = server.Handler(n.db, o)
			nodes[i] = n
		}
		synctest.Wait()
		test(t, nodes[0], nodes[1])
		cancel()
		synctest.Wait()
	})
}

// send sends a request whose headers are pairs of names and values.
func (n *peer) send(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	n.web.ServeHTTP(w, r)
	return w
}

// want sends a request and checks the status, and what the answer contains.
func (n *peer) want(t *testing.T, status int, part, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := n.send(method, target, body, headers...)
	if w.Code != status || !strings.Contains(w.Body.String(), part) {
		t.Errorf("%s %s %v: %d %s, want %d with %s", method, target, headers, w.Code, w.Body, status, part)
	}
	return w
}

const clustered = `{"posts":[{"id":"1","title":"One"}],"comments":[],"profile":{"name":"ruth"}}`

// TestReadYourWrites reads at one server what another has written.
func TestReadYourWrites(t *testing.T) {
	inCluster(t, server.Options{}, clustered, func(t *testing.T, a, b *peer) {
		written, writes := "", 0
		fallBehind := func() { // by one write
			b.store.Hold(false)
			synctest.Wait()
			b.store.Hold(true)
			writes++
			written = a.want(t, 200, "Uno", "PATCH", "/posts/1", fmt.Sprintf(`{"title":"Uno","n":%d}`, writes)).Header().Get("Pickup-Revision")
		}
		fallBehind()
		b.want(t, 200, "One", "GET", "/posts/1", "") // a local read
		b.want(t, 503, "does not have the state", "PATCH", "/posts/1", `{"title":"Due"}`, "Prefer", "tx=rollback")
		for _, latest := range []bool{false, true} {
			fallBehind()
			revision := written
			if latest {
				revision = "latest"
			}
			begin := time.Now()
			w := b.want(t, 503, "does not have the state", "GET", "/posts/1", "", "Pickup-Revision", revision)
			if waited := time.Since(begin); waited != 2*time.Second || w.Header().Get("Retry-After") != "1" {
				t.Errorf("%s: 503 after %v with Retry-After %q", revision, waited, w.Header().Get("Retry-After"))
			}
			for prefer, want := range map[string]time.Duration{"wait=0": 0, "wait=5": 5 * time.Second, "wait=60": 10 * time.Second, "wait=x": 2 * time.Second} {
				begin := time.Now()
				b.want(t, 503, "", "GET", "/posts", "", "Pickup-Revision", revision, "Prefer", prefer)
				if waited := time.Since(begin); waited != want {
					t.Errorf("%s, Prefer: %s: 503 after %v, want %v", revision, prefer, waited, want)
				}
			}
		}
		time.AfterFunc(time.Second, func() { b.store.Hold(false) })
		w := b.want(t, 200, "Uno", "GET", "/posts/1", "", "Pickup-Revision", written)
		if got := w.Header().Get("Pickup-Revision"); got != written {
			t.Errorf("the read is of %s, the write of %s", got, written)
		}
		b.want(t, 200, "Uno", "GET", "/posts/1", "", "Pickup-Revision", "latest")
		b.want(t, 412, "another database", "GET", "/posts/1", "", "Pickup-Revision", "x"+written)
		b.want(t, 400, "", "GET", "/posts/1", "", "Pickup-Revision", "newest")
		tag := "ETag" // as it is spelled
		for _, path := range []string{"/posts", "/posts/1", "/db", "/posts?q=u", "/profile", "/"} {
			if x, y := a.send("GET", path, "").Header()[tag], b.send("GET", path, "").Header()[tag]; !slices.Equal(x, y) || len(x) != 1 {
				t.Errorf("%s: the tags are %s and %s", path, x, y)
			}
		}
	})
}

// TestReadLatest serves the latest state to reads without a header.
func TestReadLatest(t *testing.T) {
	inCluster(t, server.Options{ReadLatest: true}, clustered, func(t *testing.T, a, b *peer) {
		b.store.Hold(true)
		a.want(t, 200, "", "PATCH", "/profile", `{"name":"Ann"}`)
		time.AfterFunc(time.Second, func() { b.store.Hold(false) })
		b.want(t, 200, "Ann", "GET", "/profile", "")
		b.store.Cut(true)
		b.want(t, 503, "The cluster has not responded since", "GET", "/profile", "")
	})
}

// TestStale serves reads while the cluster cannot be reached.
func TestStale(t *testing.T) {
	inCluster(t, server.Options{MaxStale: time.Minute}, clustered, func(t *testing.T, a, b *peer) {
		seen := b.want(t, 200, "ruth", "GET", "/profile", "").Header().Get("Pickup-Revision")
		b.store.Cut(true)
		since := time.Now().UTC().Format(time.RFC3339)
		a.want(t, 200, "", "PATCH", "/profile", `{"name":"Ann"}`)
		time.Sleep(3 * time.Second)
		if age, ok := b.want(t, 200, "ruth", "GET", "/profile", "").Header()["Age"]; ok {
			t.Errorf("Age is %s after 3 s", age)
		}
		time.Sleep(4500 * time.Millisecond)
		if age := b.want(t, 200, "ruth", "GET", "/profile", "").Header().Get("Age"); age != "7" {
			t.Errorf("Age is %q after 7.5 s", age)
		}
		b.want(t, 503, "The cluster has not responded since "+since, "PATCH", "/profile", `{"name":"Ben"}`)
		b.want(t, 503, since, "DELETE", "/posts/none", "")
		b.want(t, 503, since, "DELETE", "/posts/1", "", "Prefer", "tx=rollback")
		b.want(t, 503, since, "GET", "/profile", "", "Pickup-Revision", "latest")
		b.want(t, 503, since, "GET", "/_/readyz", "")
		b.want(t, 503, "refused until the cluster responds", "GET", "/_/readyz?verbose", "")
		b.want(t, 200, "pickup_cluster_fresh_seconds 7.5", "GET", "/_/metrics", "")
		b.want(t, 200, "pickup_cluster_broken 1", "GET", "/_/metrics", "")
		time.Sleep(time.Minute)
		b.want(t, 503, "--max-stale", "GET", "/profile", "")
		b.want(t, 503, "--max-stale", "GET", "/profile", "", "Pickup-Revision", seen)
		a.want(t, 200, "Ann", "GET", "/profile", "")
		b.store.Cut(false)
		synctest.Wait()
		if _, ok := b.want(t, 200, "Ann", "GET", "/profile", "").Header()["Age"]; ok {
			t.Error("Age is still there when the cluster answers again")
		}
		b.want(t, 200, "ready", "GET", "/_/readyz", "")
		if body := b.send("GET", "/_/metrics", "").Body.String(); strings.Contains(body, "pickup_file_broken") || !strings.Contains(body, "pickup_cluster_broken 0") {
			t.Error("the metrics are those of a file, or of a cluster that does not answer")
		}
	})
}

// TestWritesFindLatest writes to what only another server knows yet.
func TestWritesFindLatest(t *testing.T) {
	inCluster(t, server.Options{}, clustered, func(t *testing.T, a, b *peer) {
		behind := func() { // lets b fall behind for two seconds
			b.store.Hold(true)
			time.AfterFunc(time.Second, func() { b.store.Hold(false) })
		}
		behind()
		a.want(t, 200, "", "POST", "/_/transaction", `[{"op":"set","collection":"tags","value":[]}]`)
		b.want(t, 404, "There is no collection", "GET", "/tags", "")
		b.want(t, 201, "x", "POST", "/tags", `{"id":"x"}`)
		behind()
		a.want(t, 201, "", "POST", "/posts", `{"id":"2"}`)
		b.want(t, 201, `"postId":"2"`, "POST", "/posts/2/comments", `{"id":"c"}`)
		behind()
		a.want(t, 200, "", "POST", "/_/transaction", `[{"op":"set","collection":"likes","value":[{"id":"l","postId":"2"}]}]`)
		b.want(t, 200, "", "DELETE", "/posts/2?_dependent=likes,comments", "")
		b.want(t, 200, `"likes":[]`, "GET", "/db", "")
		behind()
		a.want(t, 200, "", "POST", "/_/transaction", `[{"op":"set","collection":"profile","value":[]}]`)
		b.want(t, 405, "POST is not allowed", "POST", "/posts/1", `{}`)
		b.want(t, 201, "Ann", "POST", "/profile", `{"name":"Ann"}`)
		b.want(t, 404, "There is no collection", "POST", "/none", `{}`)
		b.want(t, 400, "not a collection", "DELETE", "/posts/1?_dependent=none", "")
		behind()
		if err := a.db.SetRules(t.Context(), []byte(`{"properties":{"posts":{"items":{"properties":{"id":{"readOnly":true}}}}}}`)); err != nil {
			t.Fatal(err)
		}
		b.want(t, 405, "The service assigns the ids of posts", "PUT", "/posts/x", `{}`, "If-None-Match", "*")
		b.store.Hold(true)
		w := a.want(t, 200, "", "DELETE", "/posts/1", "")
		refused := b.want(t, 404, "", "PATCH", "/posts/1", `{}`)
		if x, y := refused.Header().Get("Pickup-Revision"), w.Header().Get("Pickup-Revision"); x != y {
			t.Errorf("a refusal is of %s, and the write that made it necessary of %s", x, y)
		}
		b.store.Cut(true)
		b.want(t, 503, "The cluster has not responded", "POST", "/none", `{}`)
	})
}

// TestUndoElsewhere lists and undoes what another server has written.
func TestUndoElsewhere(t *testing.T) {
	inCluster(t, server.Options{}, clustered, func(t *testing.T, a, b *peer) {
		revision := a.want(t, 200, "", "PATCH", "/posts/1", `{"title":"Uno"}`).Header().Get("Pickup-Revision")
		synctest.Wait()
		b.want(t, 200, fmt.Sprintf(`[{"rev":%q,"at":`, revision), "GET", "/_/changes", "")
		b.want(t, 200, `"by":"elsewhere"`, "GET", "/_/changes", "")
		b.want(t, 409, "There is no change to undo", "POST", "/_/undo", "")
		b.want(t, 200, fmt.Sprintf(`"undone":%q`, revision), "POST", "/_/undo", fmt.Sprintf(`{"rev":%q}`, revision))
		synctest.Wait()
		a.want(t, 200, "One", "GET", "/posts/1", "")
		a.want(t, 200, "", "GET", "/posts/1", "", "Pickup-Session", "s")
		b.want(t, 200, "", "DELETE", "/posts/1", "")
		synctest.Wait()
		a.want(t, 200, "One", "GET", "/posts/1", "", "Pickup-Session", "s")
		a.want(t, 404, "", "GET", "/posts/1", "")
	})
}

// TestLost resumes with revisions that are not those of a state of this server: one that
// the cluster has lost, and one that this server has passed over.
func TestLost(t *testing.T) {
	inCluster(t, server.Options{}, clustered, func(t *testing.T, a, b *peer) {
		b.store.Hold(true)
		ghost := a.want(t, 201, "", "POST", "/posts", `{"id":"ghost"}`).Header().Get("Pickup-Revision")
		a.want(t, 200, "", "DELETE", "/posts/ghost", "")
		for range 300 { // more than the store keeps: b reads everything
			a.send("PATCH", "/posts/1", fmt.Sprintf(`{"title":"%d"}`, rand.Int()))
		}
		b.store.Hold(false)
		synctest.Wait()
		now := b.want(t, 200, "", "GET", "/posts", "").Header().Get("Pickup-Revision")
		for _, test := range []struct {
			after     string
			wantReset bool
			wantRead  int
		}{
			{after: now, wantRead: 200},
			{after: ghost, wantReset: true, wantRead: 200},
			{after: now + "0", wantReset: true, wantRead: 412},
		} {
			b.want(t, test.wantRead, "", "GET", "/posts", "", "Pickup-Revision", test.after)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			r := httptest.NewRequest("GET", "/posts", nil).WithContext(ctx)
			r.Header.Set("Accept", "text/event-stream")
			r.Header.Set("Last-Event-ID", test.after)
			w := httptest.NewRecorder()
			b.web.ServeHTTP(w, r)
			cancel()
			synctest.Wait()
			if got := w.Body.String(); strings.Contains(got, "event: reset") != test.wantReset {
				t.Errorf("after %s: %s, want a reset: %t", test.after, got, test.wantReset)
			}
		}
		b.want(t, 410, "", "GET", "/_/changes?_since="+ghost, "")
	})
}

// TestStreamElsewhere resumes a stream at another server, which lags.
func TestStreamElsewhere(t *testing.T) {
	inCluster(t, server.Options{}, clustered, func(t *testing.T, a, b *peer) {
		first := a.want(t, 201, "", "POST", "/posts", `{"id":"2"}`).Header().Get("Pickup-Revision")
		synctest.Wait()
		b.store.Hold(true)
		second := a.want(t, 201, "", "POST", "/posts", `{"id":"3"}`).Header().Get("Pickup-Revision")
		third := a.want(t, 201, "", "POST", "/posts", `{"id":"4"}`).Header().Get("Pickup-Revision")
		for _, test := range []struct{ after, want string }{
			{first, second + "\n"}, {second, third + "\n"},
		} {
			b.store.Hold(true)
			time.AfterFunc(time.Second, func() { b.store.Hold(false) })
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			r := httptest.NewRequest("GET", "/posts", nil).WithContext(ctx)
			r.Header.Set("Accept", "text/event-stream")
			r.Header.Set("Last-Event-ID", test.after)
			w := httptest.NewRecorder()
			b.web.ServeHTTP(w, r)
			cancel()
			synctest.Wait()
			if got := w.Body.String(); strings.Contains(got, "reset") || !strings.Contains(got, "created\nid: "+test.want) {
				t.Errorf("after %s: %s", test.after, got)
			}
		}
		b.store.Hold(true)
		ahead := a.want(t, 201, "", "POST", "/posts", `{"id":"5"}`).Header().Get("Pickup-Revision")
		w := b.want(t, 200, "retry: ", "GET", "/posts", "", "Accept", "text/event-stream", "Last-Event-ID", ahead)
		if strings.Contains(w.Body.String(), "event") {
			t.Errorf("a stream at a server that stays behind: %s", w.Body)
		}
	})
}

// TestUnsure loses the answer to a write, which was stored.
func TestUnsure(t *testing.T) {
	inCluster(t, server.Options{}, clustered, func(t *testing.T, a, b *peer) {
		a.store.SetFault(func(call string) error {
			if call == "Stored" {
				return errors.New("the answer is lost")
			}
			return nil
		})
		a.want(t, 500, "may have stored or may store later", "PATCH", "/posts/1", `{"title":"Uno"}`)
		a.store.SetFault(nil)
		b.want(t, 201, "", "POST", "/posts", `{}`)
		a.want(t, 200, "Uno", "GET", "/posts/1", "", "Pickup-Revision", "latest")
	})
}
