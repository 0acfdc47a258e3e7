package etcdstore

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// A thrifty cluster fails the test if it is asked for a value that does not count. It
// counts the calls.
type thrifty struct {
	cluster
	t     *testing.T
	calls atomic.Int64
}

func (c *thrifty) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	c.calls.Add(1)
	r, err := c.cluster.Do(ctx, op)
	if op.IsGet() && err == nil {
		for _, kv := range r.Get().Kvs {
			if len(kv.Value) > 0 && strings.Contains(string(kv.Key), "deadwood") {
				c.t.Errorf("it reads %s", kv.Key)
			}
		}
	}
	return r, err
}

// TestLoadRubbish loads a database next to the parts that killed processes have left, and
// reads none of them.
func TestLoadRubbish(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[],"big":{}}`)
	changes := append(many(1, 2<<20), storage.Change{Collection: "big", Value: many(1, 1<<20)[0].Value})
	if _, err := s.Commit(t.Context(), load(t, s).Rev, changes); err != nil {
		t.Fatal(err)
	}
	s.leaveOpen = func() bool { return true }
	if _, err := s.Commit(t.Context(), load(t, s).Rev, many(30, 60<<10)[1:]); err != nil {
		t.Fatal(err)
	}
	want := text(load(t, s).Contents)
	for _, keys := range []string{partKeys, stagedKeys} {
		write(t, s, s.prefix+partKey(keys, "deadwood.1", 0), "x")
		write(t, s, s.prefix+keys+"deadwood", "x")
	}
	other := another(t, c, s)
	other.etcd = &thrifty{cluster: other.etcd, t: t}
	if got := load(t, other); text(got.Contents) != want || len(got.Contents[0].Elements) != 30 {
		t.Errorf("there are %d records, want 30", len(got.Contents[0].Elements))
	}
}

// TestLoadParts loads so many members that their values are in parts, of two commits. It
// does not ask for each of them.
func TestLoadParts(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[]}`)
	var changes []storage.Change
	for i := range 1000 {
		changes = append(changes, storage.Change{Collection: fmt.Sprint("m", i), Value: many(1, 1100)[0].Value})
	}
	if _, err := s.Commit(t.Context(), load(t, s).Rev, changes); err != nil {
		t.Fatal(err)
	}
	for i := range changes { // the values of two commits alternate
		if i%2 == 0 {
			changes[i].Value = many(1, 2500)[0].Value
		} else {
			changes[i] = storage.Change{Collection: "items", ID: "none"}
		}
	}
	if _, err := s.Commit(t.Context(), load(t, s).Rev, changes); err != nil {
		t.Fatal(err)
	}
	other, thrift := another(t, c, s), &thrifty{t: t}
	thrift.cluster, other.etcd = other.etcd, thrift
	if got := load(t, other); len(got.Contents) != 1001 || thrift.calls.Load() > 50 {
		t.Errorf("it has read %d members in %d calls", len(got.Contents), thrift.calls.Load())
	}
}

// TestRanks adds and deletes so many members that their ranks have more digits than the
// keys allow for: then the order of the keys is not that of the members.
func TestRanks(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"a":0}`)
	first := load(t, s)
	s.state.rank = 999_998
	follower := following(t, s, first)
	rev := first.Rev
	for _, name := range []string{"b", "c", "d", "e", "b"} {
		changes := []storage.Change{{Collection: name}, {Collection: name, Value: jsontext.Value(`{"id":1}`)}}
		var err error
		if rev, err = s.Commit(t.Context(), rev, changes); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { _, at, _, _ := follower(); return at == rev })
	shown, _, _, _ := follower()
	for by, contents := range map[string][]storage.Collection{"a load": load(t, another(t, c, s)).Contents, "a follower": shown} {
		order := ""
		for _, c := range contents {
			order += c.Name
		}
		if order != "acdeb" {
			t.Errorf("%s has the members %s, want acdeb", by, order)
		}
	}
	if r, err := s.get(t.Context(), "c/1000002/b"); err != nil || len(r.Kvs) != 1 {
		t.Errorf("the last one has another key: %v, %v", r, err)
	}
}

// BenchmarkOpen opens a database of 100,000 records of 200 bytes, and reports what a record
// needs in memory.
func BenchmarkOpen(b *testing.B) {
	const records = 100_000
	var text strings.Builder
	for i := range records {
		fmt.Fprintf(&text, `,{"id":"%06d","t":%q}`, i, strings.Repeat("x", 200-len(`{"id":"123456","t":""}`)))
	}
	c := oneNode(b)
	s := open(b, c, `{"items":[`+text.String()[1:]+`]}`)
	for b.Loop() {
		runtime.GC()
		before := heap()
		other := another(b, c, s)
		db, err := database.Open(b.Context(), other, database.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.GC()
		b.ReportMetric(float64(heap()-before)/records, "B/record")
		runtime.KeepAlive(db)
		b.StartTimer()
	}
}
