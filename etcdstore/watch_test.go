package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/storage"
)

// TestCompacted watches from a revision that etcd no longer has. Everything is loaded
// again: nobody knows what was written since then, and a hand edit does not change the
// head.
func TestCompacted(t *testing.T) {
	for _, changed := range []string{"nothing", "by a commit", "by hand"} {
		t.Run("changed "+changed, func(t *testing.T) {
			each(t, func(t *testing.T, c *etcdtest.Cluster) {
				a := open(t, c, `{"items":[{"id":"1"}]}`)
				b := another(t, c, a)
				first := load(t, b)
				b.state.asOf = b.state.head.rev // as if it was loaded long ago
				load(t, a)
				switch changed {
				case "by a commit":
					set(t, a, first.Rev, "2", `{"id":"2"}`)
				case "by hand":
					write(t, a, a.prefix+recordKey("items", 0, "1"), `{"id":"1","by":"hand"}`)
				}
				for range 3 { // writes of others
					write(t, a, "/other", "1")
				}
				compact(t, a, write(t, a, "/other", "2"))
				follower := following(t, b, first)
				eventually(t, func() bool { _, _, resets, _ := follower(); return resets > 0 })
				again(t, a, "n", "3")
				want := text(load(t, another(t, c, a)).Contents)
				eventually(t, func() bool { got, _, _, _ := follower(); return text(got) == want })
				if _, _, resets, err := follower(); resets != 1 || err != nil || strings.Contains(want, "hand") != (changed == "by hand") {
					t.Errorf("everything was loaded %d times (%v)\n%s", resets, err, want)
				}
			})
		})
	}
}

// TestTombstone follows from the very revision to which etcd was compacted, and in
// which a record was deleted. Old versions do not report the delete.
func TestTombstone(t *testing.T) {
	each(t, func(t *testing.T, c *etcdtest.Cluster) {
		a := open(t, c, `{"items":[{"id":"1"},{"id":"2"}]}`)
		b := another(t, c, a)
		first := load(t, b)
		load(t, a)
		rev, err := a.Commit(t.Context(), first.Rev, []storage.Change{{Collection: "items", ID: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		compact(t, a, int64(rev))
		follower := following(t, b, first)
		eventually(t, func() bool { _, at, _, _ := follower(); return at >= rev })
		if got, _, _, _ := follower(); text(got) != text(load(t, a).Contents) {
			t.Errorf("the follower has\n%s", text(got))
		}
		t.Logf("%d gaps", b.stats.gaps.Load())
	})
}

// TestForeign writes a key as with etcdctl put: a value that is valid, one that is not,
// and its correction.
func TestForeign(t *testing.T) {
	c := oneNode(t)
	a := open(t, c, `{"items":[{"id":"1","v":"old"}]}`)
	b := another(t, c, a)
	ctx := t.Context()
	followA, followB := following(t, a, load(t, a)), following(t, b, load(t, b))
	key := recordKey("items", 0, "1")
	first := load(t, a)
	write(t, a, a.prefix+key, `{"id":"1", "v":"by hand"}`)
	for _, f := range []func() ([]storage.Collection, storage.Rev, int, error){followA, followB} {
		eventually(t, func() bool { got, _, _, _ := f(); return strings.Contains(text(got), "by hand") })
	}
	edited := load(t, a)
	if edited.Contents[0].Rev <= first.Contents[0].Rev {
		t.Error("the collection has the revision that it had before the edit")
	}
	rev := set(t, a, edited.Rev, "2", `{"id":"2"}`)
	later := load(t, another(t, c, a))
	if got := later.Contents[0].Rev; got != rev {
		t.Errorf("the collection has the revision %d after a commit at %d", got, rev)
	}
	if first.Edited != 0 || edited.Edited != edited.Rev || later.Edited != edited.Rev {
		t.Errorf("the latest hand edit has led to %d, %d and %d, want 0 and twice %d", first.Edited, edited.Edited, later.Edited, edited.Rev)
	}

	write(t, a, a.prefix+key, `{"id":"1", "v":`)
	eventually(t, func() bool {
		_, _, _, err := followB()
		return errors.Is(err, storage.ErrBroken) && strings.Contains(err.Error(), "/r/items/000000000000/1")
	})
	latest, err := b.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = b.Commit(ctx, latest, []storage.Change{{Collection: "items", ID: "2"}}); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("Commit while a key is broken: %v, want ErrBroken", err)
	}
	write(t, a, a.prefix+key, `{"id":"1", "v":"corrected"}`)
	eventually(t, func() bool {
		got, _, _, err := followB()
		return err == nil && strings.Contains(text(got), "corrected")
	})
	again(t, b, "items", `[]`)
}

// TestReadOnly follows with a store that writes nothing, where others would: after a
// compaction, and after a hand edit, which it shows when another
// store has begun to follow.
func TestReadOnly(t *testing.T) {
	c := oneNode(t)
	a := open(t, c, `{"items":[{"id":"1","v":"old"}]}`)
	load(t, a)
	write(t, a, "/other", "0")
	s := another(t, c, a)
	s.readOnly, s.log = true, complaining(t)
	s.etcd = sealed{s.etcd, t}
	first := load(t, s)
	s.state.asOf = s.state.head.rev // as if it was loaded long ago
	compact(t, a, write(t, a, "/other", "1"))
	follower := following(t, s, first)
	rev := set(t, a, first.Rev, "2", `{"id":"2"}`)
	eventually(t, func() bool { _, at, _, err := follower(); return at == rev && err == nil })
	if s.stats.restarts.Load() == 0 {
		t.Error("the compaction went unnoticed")
	}
	write(t, a, a.prefix+recordKey("items", 0, "1"), `{"id":"1","v":"by hand"}`)
	if _, err := s.Commit(t.Context(), rev, many(1, 10)); !errors.Is(err, storage.ErrReadOnly) {
		t.Errorf("Commit: %v, want ErrReadOnly", err)
	}
	eventually(t, func() bool { return s.stats.handEdits.Load() > 0 })
	b := another(t, c, a)
	following(t, b, load(t, b))
	eventually(t, func() bool { got, _, _, err := follower(); return err == nil && strings.Contains(text(got), "by hand") })
	if err := s.Writable(); err != nil {
		t.Errorf("Writable: %v", err)
	}
}

// TestMissedEdit edits a record by hand where no server that may write can receive it. A
// server that may not has to show it nevertheless.
func TestMissedEdit(t *testing.T) {
	shows := func(t *testing.T, follower func() ([]storage.Collection, storage.Rev, int, error)) {
		t.Helper()
		eventually(t, func() bool { got, _, _, err := follower(); return err == nil && strings.Contains(text(got), "by hand") })
	}
	setup := func(t *testing.T) (c *etcdtest.Cluster, a, reader *Store, follower func() ([]storage.Collection, storage.Rev, int, error)) {
		c = oneNode(t)
		a = open(t, c, `{"items":[{"id":"1","v":"old"}]}`)
		reader = another(t, c, a)
		reader.readOnly = true
		return c, a, reader, following(t, reader, load(t, reader))
	}
	edit := func(t *testing.T, a, reader *Store) {
		write(t, a, a.prefix+recordKey("items", 0, "1"), `{"id":"1","v":"by hand"}`)
		eventually(t, func() bool { return reader.stats.handEdits.Load() > 0 })
	}
	t.Run("compacted before a server starts", func(t *testing.T) {
		c, a, reader, follower := setup(t)
		edit(t, a, reader)
		compact(t, a, write(t, a, "/other", "1"))
		b := another(t, c, a)
		following(t, b, load(t, b))
		shows(t, follower)
	})
	t.Run("far", func(t *testing.T) {
		c, a, reader, follower := setup(t)
		writer := another(t, c, a)
		g := newGate(writer.etcd)
		writer.etcd = g
		late := following(t, writer, load(t, writer))
		g.shut()
		edit(t, a, reader)
		rev := load(t, a).Rev
		for i := range maxMissed + 1 {
			rev = set(t, a, rev, "2", fmt.Sprintf(`{"id":"2","n":%d}`, i))
		}
		shows(t, follower)
		eventually(t, func() bool { _, _, _, err := late(); return err != nil })
		g.reopen()
		shows(t, late)
		if n := writer.stats.handEdits.Load(); n > 0 {
			t.Errorf("the writer received %d edits, although it was far", n)
		}
	})
}

// TestUnusableHead looks that a watch goes on if the head is one of a later version.
func TestUnusableHead(t *testing.T) {
	t.Parallel()
	c := oneNode(t)
	s := open(t, c, `{"items":[]}`)
	follower := following(t, s, load(t, s))
	write(t, s, s.prefix+headKey, `{"pickup":3}`)
	eventually(t, func() bool { _, _, _, err := follower(); return err != nil })
	begin, asked := s.stats.restarts.Load(), time.Now()
	eventually(t, func() bool { return time.Since(asked) > staleAfter+probeEach })
	if n := s.stats.restarts.Load() - begin; n > 2 {
		t.Errorf("the watch was begun %d times", n)
	}
}

// A gate is a cluster that does not answer while it is shut. It counts the bytes of the
// values that it reports.
type gate struct {
	cluster
	received atomic.Int64
	mu       sync.Mutex
	open     context.Context // guarded by mu; done when it is shut
	shut     func()
}

func newGate(c cluster) *gate {
	g := &gate{cluster: c}
	g.open, g.shut = context.WithCancel(context.Background())
	return g
}

func (g *gate) isOpen() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = context.Background()
}

func (g *gate) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if g.isOpen().Err() != nil {
		return clientv3.OpResponse{}, errLost
	}
	return g.cluster.Do(ctx, op)
}

func (g *gate) Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(g.isOpen(), cancel)
	counted := make(chan clientv3.WatchResponse)
	go func() {
		defer close(counted)
		for r := range g.cluster.Watch(ctx, key, o...) {
			for _, e := range r.Events {
				g.received.Add(int64(len(e.Kv.Value)))
			}
			select {
			case counted <- r:
			case <-ctx.Done():
			}
		}
	}()
	return counted
}

// TestFarBehind cuts a store off while another one writes 40 MiB into a database of half a
// megabyte. Afterwards it does not receive all of that.
func TestFarBehind(t *testing.T) {
	c := oneNode(t)
	a := open(t, c, `{"v":{}}`)
	b := another(t, c, a)
	first := load(t, b)
	g := newGate(b.etcd)
	b.etcd = g
	follower := following(t, b, first)
	again(t, a, "n", "1")
	eventually(t, func() bool { _, at, _, _ := follower(); return at > first.Rev })
	g.shut()
	rev := load(t, a).Rev
	for i := range maxMissed + 16 {
		var err error
		v := jsontext.Value(fmt.Sprintf(`{"v":"%d%s"}`, i, strings.Repeat("x", 512<<10)))
		if rev, err = a.Commit(t.Context(), rev, []storage.Change{{Collection: "v", Value: v}}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { _, _, _, err := follower(); return errors.Is(err, storage.ErrAway) })
	g.reopen()
	eventually(t, func() bool { _, at, _, err := follower(); return at == rev && err == nil })
	if n := g.received.Load() >> 20; n > 10 {
		t.Errorf("it has received %d MiB", n)
	}
	if got, _, _, _ := follower(); text(got) != text(load(t, a).Contents) {
		t.Error("it shows other contents than those of the other store")
	}
}

// heap returns the bytes of the heap in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A racing cluster calls first before its first transaction that adopts a hand edit.
type racing struct {
	cluster
	first func()
	once  sync.Once
}

func (r *racing) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if op.IsTxn() {
		if _, then, _ := op.Txn(); len(then) == 1 && strings.Contains(string(then[0].ValueBytes()), `"reload":true`) {
			r.once.Do(r.first)
		}
	}
	return r.cluster.Do(ctx, op)
}

// TestForeignRace commits just before a hand edit is adopted.
func TestForeignRace(t *testing.T) {
	c := oneNode(t)
	a := open(t, c, `{"items":[{"id":"1","v":"old"}]}`)
	b := another(t, c, a)
	first := load(t, b)
	b.etcd = &racing{cluster: b.etcd, first: func() { again(t, a, "n", "1") }}
	follower := following(t, b, first)
	write(t, a, a.prefix+recordKey("items", 0, "1"), `{"id":"1","v":"by hand"}`)
	eventually(t, func() bool {
		got, _, _, err := follower()
		return err == nil && len(got) == 2 && strings.Contains(text(got), "by hand")
	})
}

// A cut is a cluster whose first watch ends after the first revision. It may also
// never report one of the revisions.
type cut struct {
	cluster
	watches atomic.Int64
	skip    int64
}

func (c *cut) Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	first := c.watches.Add(1) == 1
	out := make(chan clientv3.WatchResponse)
	go func() {
		defer close(out)
		for r := range c.cluster.Watch(ctx, key, o...) {
			for i, events := range byRevision(r.Events) {
				if events[0].Kv.ModRevision == c.skip {
					continue
				}
				// The revision in the header is the latest, as for a watch far behind.
				response := r
				response.Events = events
				select {
				case out <- response:
				case <-ctx.Done():
					return
				}
				if first && i == 0 {
					return
				}
			}
		}
	}()
	return out
}

// TestCut misses nothing if a watch ends between two of several responses, and loads
// everything if etcd does not report a commit.
func TestCut(t *testing.T) {
	for _, lose := range []bool{false, true} {
		t.Run(fmt.Sprint("lose ", lose), func(t *testing.T) {
			c := oneNode(t)
			a := open(t, c, `{"items":[]}`)
			b := another(t, c, a)
			first := load(t, b)
			load(t, a)
			rev := first.Rev
			var revs []storage.Rev
			for _, id := range []string{"1", "2", "3"} {
				rev = set(t, a, rev, id, `{"id":"`+id+`"}`)
				revs = append(revs, rev)
			}
			f := &cut{cluster: b.etcd}
			if lose {
				f.skip = int64(revs[1])
			}
			b.etcd = f
			follower := following(t, b, first)
			eventually(t, func() bool { _, at, _, _ := follower(); return at == rev })
			got, _, resets, _ := follower()
			if want := map[bool]int{false: 0, true: 1}[lose]; resets != want || text(got) != text(load(t, a).Contents) {
				t.Errorf("%d loads, want %d; the follower has\n%s", resets, want, text(got))
			}
			for _, counter := range b.Counters() {
				if n := counter.Value(); counter.Name == "gaps" && (n == 1) != lose {
					t.Errorf("%d gaps are counted", n)
				}
			}
		})
	}
}

// TestAway stops the node of a cluster: Watch reports it, and that it is back.
func TestAway(t *testing.T) {
	t.Parallel()
	c, err := etcdtest.Start(etcdtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	s := open(t, c, `{"items":[]}`)
	first := load(t, s)
	follower := following(t, s, first)
	c.Nodes[0].Kill()
	eventually(t, func() bool { _, _, _, err := follower(); return errors.Is(err, storage.ErrAway) })
	if age := time.Since(s.Fresh()); age < staleAfter {
		t.Errorf("Watch has reported it %v after the cluster last answered", age)
	}
	if _, err = s.Commit(t.Context(), first.Rev, many(1, 10)); !errors.Is(err, storage.ErrAway) {
		t.Errorf("Commit: %v, want ErrAway", err)
	}
	if err := c.Nodes[0].Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { _, _, _, err := follower(); return err == nil })
	eventually(t, func() bool { return time.Since(s.Fresh()) < staleAfter })
	again(t, s, "n", "1")
	eventually(t, func() bool { got, _, _, _ := follower(); return len(got) == 2 })
}

// TestDropped deletes all keys, and imports another database in their place, which is
// not taken for the one that was there.
func TestDropped(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[]}`)
	first := load(t, s)
	follower := following(t, s, first)
	if _, err := s.etcd.Do(t.Context(), clientv3.OpDelete(s.prefix, clientv3.WithPrefix())); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { _, _, _, err := follower(); return err != nil })
	if _, err := s.Commit(t.Context(), first.Rev, many(1, 10)); !errors.Is(err, storage.ErrAway) {
		t.Errorf("Commit without a database: %v, want ErrAway", err)
	}
	if _, err := another(t, c, s).Import(t.Context(), contentsOf(`{"other":[]}`), nil); err != nil {
		t.Fatal(err)
	}
	isOther := func(err error) bool {
		return errors.Is(err, storage.ErrBroken) && strings.Contains(err.Error(), "another database has replaced this one")
	}
	eventually(t, func() bool { _, _, _, err := follower(); return isOther(err) })
	if _, err := s.Commit(t.Context(), first.Rev, many(1, 10)); !isOther(err) {
		t.Errorf("Commit to another database: %v", err)
	}
	if got, at, _, _ := follower(); at != first.Rev || text(got) != text(first.Contents) {
		t.Errorf("the follower is at %d with\n%s", at, text(got))
	}
	if b := load(t, another(t, c, s)); b.Origin == first.Origin || b.Contents[0].Name != "other" {
		t.Errorf("a new store has the database %q with\n%s", b.Origin, text(b.Contents))
	}
}

// TestSlowLoad loads while another store writes: what arrives meanwhile is noted, so
// that the next commit needs no load of its own.
func TestSlowLoad(t *testing.T) {
	c := oneNode(t)
	a := open(t, c, `{"items":[],"n":0}`)
	b := another(t, c, a)
	first := load(t, b)
	follower := following(t, b, first)
	rev := load(t, a).Rev
	stop := make(chan bool)
	done := make(chan bool)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var err error
			if rev, err = a.Commit(t.Context(), rev, []storage.Change{{Collection: "n", Value: jsontext.Value(fmt.Sprint(i))}}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 30 {
		load(t, b)
	}
	close(stop)
	<-done
	eventually(t, func() bool { _, at, _, _ := follower(); return at == rev })
	b.mu.Lock()
	at := b.state.head.rev
	b.mu.Unlock()
	if at != int64(rev) {
		t.Errorf("the state is at %d, want %d", at, rev)
	}
}

// TestStale reports a state whose head was not confirmed for a while, however old the state
// is that Watch begins with.
func TestStale(t *testing.T) {
	s := newStore(nil, "/x/", nil)
	s.fresh = time.Now().Add(-time.Minute)
	f := s.newFollower(5)
	if err := f.staleError(); err != nil {
		t.Errorf("a follower that has just begun reports %v", err)
	}
	f.started = s.fresh
	if err := f.staleError(); !errors.Is(err, storage.ErrAway) {
		t.Errorf("a follower that has not heard of the head for a minute reports %v", err)
	}
}
