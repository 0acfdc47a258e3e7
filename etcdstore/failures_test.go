package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/storage"
)

// TestFull fills a cluster: commits are refused and reads go on, until there is space
// again.
func TestFull(t *testing.T) {
	t.Parallel()
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
	eventually(t, func() bool { // commits may succeed until the alarm is raised
		next, err := fill()
		if err == nil {
			rev = next
		}
		return errors.Is(err, storage.ErrFull) && errors.Is(s.Writable(), storage.ErrFull)
	})
	if changed := load(t, s).Contents[0].Rev; changed != rev {
		t.Errorf("the value was changed at revision %d, want %d", changed, rev)
	}
	if _, _, _, err := follower(); err != nil {
		t.Errorf("Watch: %v", err)
	}
	client, _, err := s.etcd.(*nodes).connect()
	if err != nil {
		t.Fatal(err)
	}
	compact(t, s, int64(rev))
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
		return errors.Is(err, storage.ErrBroken) && strings.Contains(err.Error(), "layout 2, and this version supports layout 1: use a newer version")
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

// twoClusters starts two clusters without keys.
func twoClusters(t *testing.T) (all [2]*etcdtest.Cluster) {
	for i := range all {
		c, err := etcdtest.Start(etcdtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Stop)
		all[i] = c
	}
	return all
}

// restored returns stores of a database, and of what a backup of it restores. The calls
// of the first one go there once later is set.
func restored(t *testing.T, clusters [2]*etcdtest.Cluster, prefix string) (s, backup *Store, both *swapped) {
	s, backup = connect(t, clusters[0], prefix), connect(t, clusters[1], prefix)
	if _, err := s.Import(t.Context(), contentsOf(`{"items":[]}`), nil); err != nil {
		t.Fatal(err)
	}
	keys, err := s.get(t.Context(), writeTime, "", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var puts []clientv3.Op
	for _, kv := range keys.Kvs {
		puts = append(puts, clientv3.OpPut(string(kv.Key), string(kv.Value)))
	}
	if _, err := backup.etcd.Do(t.Context(), clientv3.OpTxn(nil, puts, nil)); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again(t, s, "n", "1")
	}
	both = &swapped{a: s.etcd, b: backup.etcd}
	s.etcd = both
	return s, backup, both
}

func isPast(err error) bool {
	return errors.Is(err, storage.ErrBroken) && strings.Contains(err.Error(), "by a restore from a backup: restart this server")
}

// writeUntil commits until the database is at a revision, and returns its contents.
func writeUntil(t *testing.T, s *Store, goal storage.Rev) storage.Batch {
	t.Helper()
	for rev := load(t, s).Rev; rev < goal; {
		rev = set(t, s, rev, "1", `{"id":"1"}`)
	}
	return load(t, s)
}

// TestRestored goes back to an earlier revision, as after a restore from a backup. Others
// write until the revision is the same again: it means another state.
func TestRestored(t *testing.T) {
	t.Parallel()
	clusters := twoClusters(t)
	t.Run("noticed", func(t *testing.T) {
		s, backup, both := restored(t, clusters, "/one/")
		first := load(t, s)
		follower := following(t, s, first)
		both.later.Store(true)
		eventually(t, func() bool { _, _, _, err := follower(); return isPast(err) })
		writeUntil(t, backup, first.Rev)
		if _, err := s.Commit(t.Context(), first.Rev, many(1, 10)); !isPast(err) {
			t.Errorf("Commit: %v", err)
		}
		if _, err := s.Latest(t.Context()); !isPast(err) {
			t.Errorf("Latest: %v", err)
		}
		if _, err := s.Load(t.Context()); !isPast(err) {
			t.Errorf("Load: %v", err)
		}
		if got, at, _, _ := follower(); at != first.Rev || len(got) != 2 {
			t.Errorf("the follower is at %d, want %d", at, first.Rev)
		}
	})
	// A server slept during the restore.
	for name, call := range map[string]func(*Store, storage.Rev) error{
		"commit": func(s *Store, rev storage.Rev) error {
			_, err := s.Commit(t.Context(), rev, many(1, 10))
			if !errors.Is(err, storage.ErrConflict) {
				return fmt.Errorf("Commit: %w, want ErrConflict", err)
			}
			_, err = s.Latest(t.Context())
			return err
		},
		"latest": func(s *Store, rev storage.Rev) error { _, err := s.Latest(t.Context()); return err },
		"load":   func(s *Store, rev storage.Rev) error { _, err := s.Load(t.Context()); return err },
	} {
		t.Run("not noticed, "+name, func(t *testing.T) {
			s, backup, both := restored(t, clusters, "/"+name+"/")
			rev := load(t, s).Rev
			want := writeUntil(t, backup, rev)
			if want.Rev != rev {
				t.Fatalf("the backup is at %d, want %d", want.Rev, rev)
			}
			both.later.Store(true)
			if err := call(s, rev); !isPast(err) {
				t.Errorf("%v", err)
			}
			if got := load(t, backup); got.Rev != rev || text(got.Contents) != text(want.Contents) {
				t.Errorf("the backup was changed to\n%s", text(got.Contents))
			}
		})
	}
}

// TestRestoredBehind has a follower miss a restore and as many commits as it lost.
func TestRestoredBehind(t *testing.T) {
	t.Parallel()
	s, backup, both := restored(t, twoClusters(t), "/one/")
	first := load(t, s)
	b := writeUntil(t, backup, first.Rev)
	set(t, backup, b.Rev, "2", `{"id":"2"}`) // it follows what s has, as it seems
	both.later.Store(true)
	follower := following(t, s, first)
	eventually(t, func() bool { _, _, _, err := follower(); return isPast(err) })
	if got, at, _, _ := follower(); at != first.Rev || text(got) != text(first.Contents) {
		t.Errorf("the follower is at %d with\n%s", at, text(got))
	}
}

// An alternating cluster sends each call to the other one of two.
type alternating struct {
	swapped
	calls atomic.Int64
}

func (a *alternating) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	a.later.Store(a.calls.Add(1)%2 == 0)
	return a.swapped.Do(ctx, op)
}

// TestTwoClusters has nodes of two clusters in one URL, with databases at the same
// revision under its prefix. When the node in use is lost, nothing of the other one is
// read or changed.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	clusters := twoClusters(t)
	hosts := []string{clusters[0].Hosts(), clusters[1].Hosts()}
	open := func(hosts ...string) *Store {
		s, err := Open(Address{Hosts: hosts, Prefix: "/family/"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	mine, other := open(hosts[0]), open(hosts[1])
	var revs [2]storage.Rev
	for i, s := range []*Store{mine, other} {
		var err error
		if revs[i], err = s.Import(t.Context(), contentsOf(fmt.Sprintf(`{"items":[{"id":"1","cluster":%d}]}`, i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if revs[0] != revs[1] {
		t.Fatalf("the databases are at %d", revs)
	}
	var pages [2]cluster // of a database that a load reads in several calls
	for i, c := range clusters {
		large := connect(t, c, "/large/")
		if _, err := large.Import(t.Context(), contentsOf(`{"items":[`+strings.Repeat("1,", firstPage)+`1]}`), nil); err != nil {
			t.Fatal(err)
		}
		pages[i] = large.etcd
	}
	mixed := connect(t, clusters[0], "/large/")
	mixed.etcd = &alternating{swapped: swapped{a: pages[0], b: pages[1]}}
	if _, err := mixed.Load(t.Context()); !errors.Is(err, errOtherDatabase) {
		t.Errorf("a load of half of each database: %v", err)
	}
	isOther := func(err error) bool {
		return errors.Is(err, storage.ErrBroken) && strings.Contains(err.Error(), "or correct the URL if it names nodes of two clusters")
	}
	writer := open(hosts...)
	clusters[1].Nodes[0].Kill()
	first := load(t, writer)
	if !strings.Contains(text(first.Contents), `"cluster":0`) {
		t.Fatalf("the first node of the URL has\n%s", text(first.Contents))
	}
	clusters[0].Nodes[0].Kill()
	if err := clusters[1].Nodes[0].Start(); err != nil {
		t.Fatal(err)
	}
	change := []storage.Change{{Collection: "items", ID: "1", Value: jsontext.Value(`{"id":"1","lost":true}`)}}
	eventually(t, func() bool {
		_, err := writer.Commit(t.Context(), first.Rev, change)
		if err == nil {
			t.Fatal("a commit to another database succeeds")
		}
		if errors.Is(err, storage.ErrConflict) {
			_, err = writer.Latest(t.Context())
		}
		return isOther(err)
	})
	if got := text(load(t, other).Contents); strings.Contains(got, "lost") || !strings.Contains(got, `"cluster":1`) {
		t.Errorf("the other database has\n%s", got)
	}
	if err := clusters[0].Nodes[0].Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { _, err := mine.Load(t.Context()); return err == nil })
	if got := load(t, mine); got.Rev != first.Rev || text(got.Contents) != text(first.Contents) {
		t.Errorf("the database is at %d with\n%s", got.Rev, text(got.Contents))
	}

	reader := open(hosts[0])
	load(t, reader)
	set(t, other, revs[1], "2", `{"id":"2"}`) // it follows what the reader has, as it seems
	reader.etcd = other.etcd
	follower := following(t, reader, first)
	eventually(t, func() bool { _, _, _, err := follower(); return isOther(err) })
	if got, at, _, _ := follower(); at != first.Rev || text(got) != text(first.Contents) {
		t.Errorf("the reader is at %d with\n%s", at, text(got))
	}
}
