package etcdstore

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// long selects the full counts.
var long = os.Getenv("PICKUP_LONG") != ""

// clusters are those that the tests have started.
var clusters struct {
	mu     sync.Mutex
	byName map[string]*etcdtest.Cluster // guarded by mu
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, c := range clusters.byName {
		c.Stop()
	}
	os.Exit(code)
}

// started returns the cluster with that name, which it starts for the first test.
func started(t testing.TB, name string, o etcdtest.Options) *etcdtest.Cluster {
	t.Helper()
	clusters.mu.Lock()
	defer clusters.mu.Unlock()
	c := clusters.byName[name]
	if c == nil {
		var err error
		if c, err = etcdtest.Start(o); err != nil {
			t.Fatal(err)
		}
		if clusters.byName == nil {
			clusters.byName = make(map[string]*etcdtest.Cluster)
		}
		clusters.byName[name] = c
	}
	return c
}

// oneNode returns a cluster of the etcd that the system has.
func oneNode(t testing.TB) *etcdtest.Cluster { return started(t, "one node", etcdtest.Options{}) }

// each runs a test on one node and, with the full counts, on three nodes of the
// oldest and the newest version that is supported.
func each(t *testing.T, test func(t *testing.T, c *etcdtest.Cluster)) {
	t.Run("one node", func(t *testing.T) { test(t, oneNode(t)) })
	if !long {
		return
	}
	newest, err := etcdtest.Newest()
	if err != nil {
		t.Fatal(err)
	}
	for name, binary := range map[string]string{"three nodes": "", "three of the newest": newest} {
		t.Run(name, func(t *testing.T) { test(t, started(t, name, etcdtest.Options{Nodes: 3, Binary: binary})) })
	}
}

var prefixes atomic.Int64

// open returns a store of a new database in a cluster.
func open(t testing.TB, c *etcdtest.Cluster, database string) *Store {
	t.Helper()
	s := connect(t, c, fmt.Sprintf("/test/%d/", prefixes.Add(1)))
	if _, err := s.Import(t.Context(), contentsOf(database), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// connect returns another store of a database.
func connect(t testing.TB, c *etcdtest.Cluster, prefix string) *Store {
	t.Helper()
	o := Options{}
	if testing.Verbose() {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	s, err := Open(Address{Hosts: strings.Split(c.Hosts(), ","), Prefix: prefix}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// another returns another store of the same database.
func another(t testing.TB, c *etcdtest.Cluster, s *Store) *Store { return connect(t, c, s.prefix) }

func contentsOf(database string) (contents []storage.Collection) {
	for quoted, v := range rawjson.Members([]byte(database)) {
		contents = append(contents, storage.NewCollection(rawjson.Unquote(quoted), v, "id"))
	}
	return contents
}

// text returns contents as text, a line for each top-level member.
func text(contents []storage.Collection) string {
	var b bytes.Buffer
	for _, c := range contents {
		fmt.Fprintf(&b, "%s %d %s:", c.Name, c.Kind, c.Value)
		for _, e := range c.Elements {
			fmt.Fprintf(&b, " %q=%s", e.Key, rawjson.Compact(e.Value))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func load(t testing.TB, s *Store) storage.Batch {
	t.Helper()
	b, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// set commits one record of the collection items.
func set(t testing.TB, s *Store, base storage.Rev, id, value string) storage.Rev {
	t.Helper()
	rev, err := s.Commit(t.Context(), base, []storage.Change{{Collection: "items", ID: id, Value: jsontext.Value(value)}})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

// write writes a key past the store, and returns the revision of the cluster.
func write(t testing.TB, s *Store, key, value string) int64 {
	t.Helper()
	r, err := s.etcd.Do(t.Context(), clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut(key, value)}, nil))
	if err != nil {
		t.Fatal(err)
	}
	return r.Txn().Header.Revision
}

// compact removes the revisions before one, and waits until etcd has removed them.
func compact(t testing.TB, s *Store, rev int64) {
	t.Helper()
	c, _, err := s.etcd.(*nodes).connect()
	if err == nil {
		_, err = c.Compact(t.Context(), rev, clientv3.WithCompactPhysical())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until ok returns true.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it has not happened after 20 s")
		}
	}
}

// A sealed cluster is that of a store which writes nothing.
type sealed struct {
	cluster
	t testing.TB
}

func (s sealed) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if !op.IsGet() {
		s.t.Error("a store that writes nothing sends a write")
	}
	return s.cluster.Do(ctx, op)
}

// complaining returns a log in which a warning or an error fails the test.
func complaining(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(complaint{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type complaint struct{ testing.TB }

func (c complaint) Write(line []byte) (int, error) {
	c.Errorf("the log has %s", line)
	return len(line), nil
}

// following runs Watch after a revision until the test ends, and returns a function
// with what it has yielded so far: the contents, their revision, how often everything
// was loaded, and the last error.
func following(t testing.TB, s *Store, first storage.Batch) func() (contents []storage.Collection, rev storage.Rev, resets int, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	contents, rev, resets := first.Contents, first.Rev, 0
	var last error
	done := make(chan bool)
	go func() {
		defer close(done)
		for b, err := range s.Watch(ctx, first.Rev) {
			mu.Lock()
			last = err
			switch {
			case err != nil:
			case b.Reset:
				contents, rev = b.Contents, b.Rev
				resets++
			case b.After != rev:
				t.Errorf("Watch yields a batch from %d to %d after revision %d", b.After, b.Rev, rev)
			default:
				contents, rev = apply(contents, b.Changes), b.Rev
			}
			mu.Unlock()
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() ([]storage.Collection, storage.Rev, int, error) {
		mu.Lock()
		defer mu.Unlock()
		return contents, rev, resets, last
	}
}
