package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/storage"
)

// TestFull fills a cluster: commits are refused and reads go on, until there is space
// again.
func TestFull(t *testing.T) {
	c, err := etcdtest.Start(etcdtest.Options{Flags: []string{"--quota-backend-bytes", "4194304"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	s := open(t, c, `{"n":0}`)
	b := load(t, s)
	follower := following(t, s, b)
	rev := b.Rev
	fill := func() (storage.Rev, error) {
		b := load(t, s)
		value := jsontext.Value(fmt.Sprintf(`"%d%s"`, b.Rev, strings.Repeat("x", 500<<10)))
		return s.Commit(t.Context(), b.Rev, []storage.Change{{Collection: "n", Value: value}})
	}
	for err == nil {
		var next storage.Rev
		if next, err = fill(); err == nil {
			rev = next
		}
	}
	var advice *storage.AdviceError
	if !errors.Is(err, storage.ErrFull) || !errors.As(err, &advice) {
		t.Fatalf("Commit: %v, want ErrFull", err)
	}
	eventually(t, func() bool { // smaller commits hold until the alarm is raised
		_, err := fill()
		return errors.Is(err, storage.ErrFull) && errors.Is(s.Writable(), storage.ErrFull)
	})
	if changed := load(t, s).Contents[0].Rev; changed != rev {
		t.Errorf("the value was changed at revision %d, want %d", changed, rev)
	}
	if _, _, _, err := follower(); err != nil {
		t.Errorf("Watch: %v", err)
	}
	client, _, err := s.etcd.(*nodes).client()
	if err != nil {
		t.Fatal(err)
	}
	compact(t, s, int64(rev))
	time.Sleep(300 * time.Millisecond) // etcd compacts later
	if _, err := client.Defragment(t.Context(), c.Nodes[0].Host); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return s.Writable() == nil })
	again(t, s, "n", "1")
}

// TestLayout has a newer version take the database over.
func TestLayout(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[]}`)
	first := load(t, s)
	follower := following(t, s, first)
	write(t, s, s.prefix+headKey, fmt.Sprintf(`{"pickup":2,"database":%q,"prev":%d}`, first.Origin, first.Rev))
	isNewer := func(err error) bool {
		return errors.Is(err, storage.ErrBroken) && strings.Contains(err.Error(), "layout 2 and this version knows 1: use a newer version")
	}
	eventually(t, func() bool { _, _, _, err := follower(); return isNewer(err) })
	if _, err := s.Commit(t.Context(), first.Rev, many(1, 10)); !isNewer(err) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := another(t, c, s).Load(t.Context()); !isNewer(err) {
		t.Errorf("Load: %v", err)
	}
}

// A swapped cluster is one of two.
type swapped struct {
	a, b  cluster
	later atomic.Bool
}

func (s *swapped) now() cluster {
	if s.later.Load() {
		return s.b
	}
	return s.a
}

func (s *swapped) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	return s.now().Do(ctx, op)
}

func (s *swapped) Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	return s.now().Watch(ctx, key, o...)
}

func (s *swapped) Close() error { return errors.Join(s.a.Close(), s.b.Close()) }

// TestRestored goes back to an earlier revision, as after a restore from a backup. Others
// write until the revision is the same again: it means another state.
func TestRestored(t *testing.T) {
	var stores [2]*Store
	var at [2]storage.Rev
	for i := range stores {
		c, err := etcdtest.Start(etcdtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Stop)
		stores[i] = connect(t, c, "/family/")
		if at[i], err = stores[i].Import(t.Context(), contentsOf(`{"items":[]}`), nil); err != nil {
			t.Fatal(err)
		}
	}
	s, other, rev := stores[0], stores[1], at[1]
	for range 5 {
		again(t, s, "n", "1")
	}
	goal := load(t, s).Rev
	both := &swapped{a: s.etcd, b: other.etcd}
	s.etcd = both
	first := load(t, s)
	follower := following(t, s, first)
	both.later.Store(true)
	isPast := func(err error) bool {
		return errors.Is(err, storage.ErrBroken) && strings.Contains(err.Error(), "a restore from a backup: restart this server")
	}
	eventually(t, func() bool { _, _, _, err := follower(); return isPast(err) })
	for rev < goal {
		rev = set(t, other, rev, "1", `{"id":"1"}`)
	}
	if _, err := s.Commit(t.Context(), first.Rev, many(1, 10)); !isPast(err) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := s.Latest(t.Context()); !isPast(err) {
		t.Errorf("Latest: %v", err)
	}
	if _, err := s.Load(t.Context()); !isPast(err) {
		t.Errorf("Load: %v", err)
	}
	if got, at, _, _ := follower(); at != goal || len(got) != 2 {
		t.Errorf("the follower is at %d, want %d", at, goal)
	}
}
