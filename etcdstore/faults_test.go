package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"pickup/internal/storage"
)

// A faulty is a cluster with one fault.
type faulty struct {
	cluster
	kind fault

	mu    sync.Mutex
	calls int  // guarded by mu
	at    int  // the call with the fault, from 1; 0: none
	dead  bool // guarded by mu; every call fails
	late  sync.WaitGroup
}

type fault string

const (
	lostBefore fault = "lost before etcd has it"
	lostAfter  fault = "performed, and the answer is lost"
	lateCall   fault = "performed late, after the answer was given up"
	twice      fault = "performed twice"
	deadBefore fault = "the process dies before the call"
	deadAfter  fault = "the process dies after the call"
)

var errLost = status.Error(codes.Unavailable, "etcdserver: request timed out")

func (f *faulty) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	f.mu.Lock()
	f.calls++
	hit := f.calls == f.at
	dead := f.dead
	f.dead = dead || hit && (f.kind == deadBefore || f.kind == deadAfter)
	f.mu.Unlock()
	switch {
	case dead, hit && (f.kind == lostBefore || f.kind == deadBefore):
		return clientv3.OpResponse{}, errLost
	case hit && (f.kind == lostAfter || f.kind == deadAfter):
		f.cluster.Do(ctx, op)
		return clientv3.OpResponse{}, errLost
	case hit && f.kind == lateCall:
		f.late.Go(func() {
			time.Sleep(time.Duration(f.at%3) * 5 * time.Millisecond)
			f.cluster.Do(context.WithoutCancel(ctx), op)
		})
		return clientv3.OpResponse{}, errLost
	case hit && f.kind == twice:
		f.cluster.Do(ctx, op)
	}
	return f.cluster.Do(ctx, op)
}

// kinds of commits, each of which takes another way.
var kinds = map[string][]storage.Change{
	"small":  {{Collection: "items", ID: "a", Value: jsontext.Value(`{"id":"a"}`)}, {Collection: "items", ID: "1"}},
	"nested": many(200, 10),
	"parts":  many(1, 2<<20),
	"staged": append(many(30, 60<<10),
		storage.Change{Collection: "items", ID: "1"}, storage.Change{Collection: "n", Value: jsontext.Value("6")}),
}

// many returns changes that add records of a size.
func many(n, size int) (changes []storage.Change) {
	for i := range n {
		id := fmt.Sprint("new", i)
		v := fmt.Sprintf(`{"id":%q,"t":"%s"}`, id, strings.Repeat("x", size))
		changes = append(changes, storage.Change{Collection: "items", ID: id, Value: jsontext.Value(v)})
	}
	return changes
}

// TestFaults has each call of each kind of commit fail in each way. The commit is whole
// or absent, as its error says, and another store goes on.
func TestFaults(t *testing.T) {
	c := oneNode(t)
	for name, changes := range kinds {
		faults := []fault{lateCall, deadAfter, lostAfter, lostBefore, twice, deadBefore}
		if !long {
			faults = faults[:2]
		}
		for _, kind := range faults {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				t.Parallel() // most of the time is waiting
				for at := 1; ; at++ {
					s := open(t, c, `{"items":[{"id":"1"}],"n":5}`)
					f := &faulty{cluster: s.etcd, kind: kind, at: at}
					before := load(t, s)
					s.etcd, s.grace = f, 10*time.Millisecond
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // of a dead process
					if kind != deadBefore && kind != deadAfter {
						ctx = t.Context()
					}
					rev, err := s.Commit(ctx, before.Rev, changes)
					cancel()
					f.late.Wait()
					b := another(t, c, s)
					b.grace = 10 * time.Millisecond
					after := load(t, b)
					without, with := text(before.Contents), text(apply(before.Contents, changes))
					got := text(after.Contents)
					switch {
					case err == nil && (got != with || after.Rev < rev):
						t.Errorf("call %d: the commit reports no error, and its changes are not there", at)
					case errors.Is(err, storage.ErrUnsure) && kind != deadBefore && kind != deadAfter:
						t.Errorf("call %d: %v", at, err)
					case err != nil && !errors.Is(err, storage.ErrUnsure) && !f.isDead() && got != without:
						t.Errorf("call %d: the commit reports %v, and its changes are there", at, err)
					case got != with && got != without:
						t.Errorf("call %d: the contents are neither old nor new:\n%.300s", at, got)
					}
					again(t, b, "n", "7")
					s2 := another(t, c, s)
					if n := load(t, s2).Contents[1].Value; string(n) != "7" {
						t.Errorf("call %d: another store has written 7, and then it is %s", at, n)
					}
					for _, s := range []*Store{s, b, s2} {
						s.Close()
					}
					if f.calls < at {
						return // the commit has made fewer calls
					}
				}
			})
		}
	}
}

func (f *faulty) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// again sets a member, and tries again after conflicts.
func again(t *testing.T, s *Store, name, value string) {
	t.Helper()
	for range 10 {
		b := load(t, s)
		_, err := s.Commit(t.Context(), b.Rev, []storage.Change{{Collection: name, Value: jsontext.Value(value)}})
		if err == nil {
			return
		}
		if !errors.Is(err, storage.ErrConflict) {
			t.Fatal(err)
		}
	}
	t.Fatal("ten conflicts without another writer")
}

// TestUnsure takes the cluster away after a transaction: nobody can say what became of
// it. The next commit is refused before it is sent.
func TestUnsure(t *testing.T) {
	s := open(t, oneNode(t), `{"items":[]}`)
	b := load(t, s)
	f := &faulty{cluster: s.etcd, kind: deadAfter, at: 1}
	s.etcd = f
	change := []storage.Change{{Collection: "items", ID: "1", Value: jsontext.Value(`{"id":"1"}`)}}
	if _, err := s.Commit(t.Context(), b.Rev, change); !errors.Is(err, storage.ErrUnsure) {
		t.Fatalf("Commit: %v, want ErrUnsure", err)
	}
	calls := f.calls
	began := time.Now()
	if _, err := s.Commit(t.Context(), b.Rev, change); !errors.Is(err, storage.ErrAway) || time.Since(began) > 2*readTime {
		t.Errorf("the next Commit: %v after %v, want ErrAway", err, time.Since(began))
	}
	if f.calls != calls+1 {
		t.Errorf("it has made %d calls, want one", f.calls-calls)
	}
	for name, call := range map[string]func() error{
		"Load":   func() error { _, err := s.Load(t.Context()); return err },
		"Latest": func() error { _, err := s.Latest(t.Context()); return err },
		"Since": func() (err error) {
			for _, failed := range s.Since(t.Context(), b.Rev) {
				err = failed
			}
			return err
		},
	} {
		var away *storage.AwayError
		if err := call(); !errors.Is(err, storage.ErrAway) || !errors.As(err, &away) || away.Since.IsZero() {
			t.Errorf("%s: %v, want ErrAway with its time", name, err)
		}
	}
}

// TestSweep deletes what commits have left whose processes died, and nothing else. A
// commit whose parts are deleted under its hands is refused and changes nothing.
func TestSweep(t *testing.T) {
	c := oneNode(t)
	a := open(t, c, `{"items":[],"big":{}}`)
	b := load(t, a)
	_, err := a.Commit(t.Context(), b.Rev, append(many(1, 2<<20), storage.Change{Collection: "big", Value: many(1, 1<<20)[0].Value}))
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []string{partKeys, stagedKeys} {
		left := &commit{Store: a}
		if err := left.lay(t.Context(), keys, "deadwood.1", [][]byte{[]byte("x"), []byte("y")}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{2, 0} {
		if n, err := a.Sweep(t.Context()); n != want || err != nil {
			t.Errorf("Sweep deletes %d (%v), want %d", n, err, want)
		}
	}
	if got := load(t, another(t, c, a)); len(got.Contents[0].Elements[0].Value) < 2<<20 || len(got.Contents[1].Value) < 1<<20 {
		t.Error("a value is gone")
	}
	// Before the transaction that makes the parts count.
	for name, changes := range map[string][]storage.Change{"a large batch": many(30, 60<<10), "a large value": many(1, 2<<20)} {
		w := another(t, c, a)
		before := load(t, w)
		swept := 0
		w.etcd = &sweeping{cluster: w.etcd, sweep: func() { swept, err = a.Sweep(t.Context()) }}
		if _, failed := w.Commit(t.Context(), before.Rev, changes); !errors.Is(failed, storage.ErrConflict) || swept != 1 || err != nil {
			t.Errorf("%s without its parts: %v, want ErrConflict (%d swept, %v)", name, failed, swept, err)
		}
		if got := load(t, a); got.Rev == before.Rev || text(got.Contents) != text(before.Contents) {
			t.Errorf("%s has changed the contents from %d to %d", name, before.Rev, got.Rev)
		}
		again(t, w, "n", "1")
	}
}

// TestTidy has a store that follows delete what is of no use, and nothing else, without
// being asked.
func TestTidy(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[],"big":{}}`)
	b := load(t, s)
	changes := append(many(1, 1<<20), storage.Change{Collection: "big", Value: many(1, 1<<20)[0].Value})
	if _, err := s.Commit(t.Context(), b.Rev, changes); err != nil {
		t.Fatal(err)
	}
	counted, err := s.laid(t.Context())
	if err != nil || len(counted) != 2 {
		t.Fatalf("%d values in parts (%v), want 2", len(counted), err)
	}
	write(t, s, s.prefix+partKey(partKeys, "deadwood.1", 0), "x")
	write(t, s, s.prefix+partKey(stagedKeys, "deadwood.2", 1), "y") // a sweep had deleted the first part
	others := s.prefix + partKeys + "jobs/1"
	write(t, s, others, "of another program")
	s.tidyEach = 50 * time.Millisecond
	following(t, s, load(t, s))
	eventually(t, func() bool { found, err := s.laid(t.Context()); return err == nil && maps.Equal(found, counted) })
	if r, err := s.get(t.Context(), strings.TrimPrefix(others, s.prefix)); err != nil || len(r.Kvs) != 1 {
		t.Errorf("%s: %v, %v", others, r, err)
	}
}

// TestWithdraw leaves no parts of commits that did not hold: another store was faster,
// or etcd refuses them.
func TestWithdraw(t *testing.T) {
	c := oneNode(t)
	a := open(t, c, `{"items":[]}`)
	b := another(t, c, a)
	for name, n := range map[string]int{"a large value": 1, "a large batch": 30} {
		first := load(t, b)
		again(t, a, "n", `"`+name+`"`)
		if _, err := b.Commit(t.Context(), first.Rev, many(n, 2<<20/n)); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", name, err)
		}
		if found, err := b.laid(t.Context()); len(found) > 0 || err != nil {
			t.Errorf("%s: %v is left (%v)", name, found, err)
		}
	}
}

// A filling cluster loses the answer to the first transaction with a large batch, which
// it performs, and has no space for more.
type filling struct {
	cluster
	full atomic.Bool
}

func (f *filling) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if op.IsTxn() {
		_, then, _ := op.Txn()
		if f.full.Load() && len(then) > 0 && then[0].IsPut() {
			return clientv3.OpResponse{}, rpctypes.ErrNoSpace
		}
		if strings.Contains(string(then[0].ValueBytes()), `"open":{`) {
			f.full.Store(true)
			f.cluster.Do(ctx, op)
			return clientv3.OpResponse{}, context.DeadlineExceeded
		}
	}
	return f.cluster.Do(ctx, op)
}

// TestUnsureBatch keeps the parts of a batch that may count.
func TestUnsureBatch(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[]}`)
	b := load(t, s)
	s.etcd = &filling{cluster: s.etcd}
	if _, err := s.Commit(t.Context(), b.Rev, many(30, 60<<10)); !errors.Is(err, storage.ErrUnsure) {
		t.Errorf("Commit: %v, want ErrUnsure", err)
	}
	if got := load(t, another(t, c, s)); len(got.Contents[0].Elements) != 30 {
		t.Errorf("the batch has %d records", len(got.Contents[0].Elements))
	}
}

// A sweeping cluster calls sweep before each transaction that compares the head.
type sweeping struct {
	cluster
	sweep func()
}

func (s *sweeping) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if op.IsTxn() {
		if ifs, _, _ := op.Txn(); len(ifs) > 0 {
			s.sweep()
		}
	}
	return s.cluster.Do(ctx, op)
}
