package etcdstore

import (
	"context"
	"errors"
	"fmt"
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
			time.Sleep(time.Duration(f.at%3) * 5 * time.Millisecond) // while the store asks for the outcome
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
	"large": append(many(10, 90<<10),
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
					s.etcd = f
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // of a dead process
					if kind != deadBefore && kind != deadAfter {
						ctx = t.Context()
					}
					rev, err := s.Commit(ctx, before.Rev, changes)
					cancel()
					f.late.Wait()
					b := another(t, c, s)
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
	t.Parallel()
	s := open(t, oneNode(t), `{"items":[]}`)
	b := load(t, s)
	f := &faulty{cluster: s.etcd, kind: deadAfter, at: 1}
	s.etcd = f
	change := []storage.Change{{Collection: "items", ID: "1", Value: jsontext.Value(`{"id":"1"}`)}}
	if _, err := s.Commit(t.Context(), b.Rev, change); !errors.Is(err, storage.ErrUnsure) {
		t.Fatalf("Commit: %v, want ErrUnsure", err)
	}
	calls := f.calls
	if _, err := s.Commit(t.Context(), b.Rev, change); !errors.Is(err, storage.ErrAway) {
		t.Errorf("the next Commit: %v, want ErrAway", err)
	}
	if f.calls != calls+1 {
		t.Errorf("it has made %d calls, want one", f.calls-calls)
	}
	for name, call := range map[string]func() error{
		"Load":   func() error { _, err := s.Load(t.Context()); return err },
		"Latest": func() error { _, err := s.Latest(t.Context()); return err },
	} {
		var away *storage.AwayError
		if err := call(); !errors.Is(err, storage.ErrAway) || !errors.As(err, &away) || away.Since.IsZero() {
			t.Errorf("%s: %v, want ErrAway with its time", name, err)
		}
	}
}

// A filling cluster performs the first transaction with changes, answers it with an error,
// and has no space for more.
type filling struct {
	cluster
	answer error
	full   atomic.Bool
}

func (f *filling) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if op.IsTxn() {
		if f.full.Load() {
			return clientv3.OpResponse{}, rpctypes.ErrNoSpace
		}
		f.full.Store(true)
		f.cluster.Do(ctx, op)
		return clientv3.OpResponse{}, f.answer
	}
	return f.cluster.Do(ctx, op)
}

// TestPerformedAndFull has etcd answer that it is full to a transaction that it has
// performed, and to one that it has not.
func TestPerformedAndFull(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[]}`)
	b := load(t, s)
	s.etcd = &filling{cluster: s.etcd, answer: rpctypes.ErrNoSpace}
	rev, err := s.Commit(t.Context(), b.Rev, many(30, 1<<10))
	if err != nil {
		t.Fatalf("Commit: %v, but it was performed", err)
	}
	if _, err := s.Commit(t.Context(), rev, many(30, 1<<11)); !errors.Is(err, storage.ErrFull) {
		t.Errorf("the next Commit: %v, want ErrFull", err)
	}
	if got := load(t, another(t, c, s)); got.Rev != rev || len(got.Contents[0].Elements) != 30 {
		t.Errorf("the database has %d records at revision %d, want 30 at %d", len(got.Contents[0].Elements), got.Rev, rev)
	}
}

// TestUnsureRefused loses the outcome of a commit, and the question for it is refused.
func TestUnsureRefused(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[]}`)
	b := load(t, s)
	s.etcd = &filling{cluster: s.etcd, answer: context.DeadlineExceeded}
	if _, err := s.Commit(t.Context(), b.Rev, many(30, 1<<10)); !errors.Is(err, storage.ErrUnsure) {
		t.Errorf("Commit: %v, want ErrUnsure", err)
	}
	if got := load(t, another(t, c, s)); len(got.Contents[0].Elements) != 30 {
		t.Errorf("the commit has %d records", len(got.Contents[0].Elements))
	}
}
