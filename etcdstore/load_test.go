package etcdstore

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// TestEarlierLayout loads databases of layout 1. One with large values or batches in parts
// is refused and stays as it is. The first commit makes any other one of layout 2.
func TestEarlierLayout(t *testing.T) {
	c := oneNode(t)
	earlier := func(more string) (s *Store) {
		s = open(t, c, `{"items":[{"id":"1"}]}`)
		write(t, s, s.prefix+headKey, fmt.Sprintf(`{"pickup":1,"database":"abc","prev":3,"commit":"x.1","count":1,"keys":1%s}`, more))
		return s
	}
	for name, test := range map[string]struct {
		head string   // more of it
		keys []string // of parts
		ok   bool
	}{
		"a large value":          {keys: []string{"p/abcdefgh.1.0/000000"}},
		"an open batch":          {head: `,"open":{"id":"abcdefgh.1","chunks":1}`, keys: []string{"t/abcdefgh.1/000000"}},
		"nothing large":          {ok: true},
		"the rest of a batch":    {keys: []string{"t/abcdefgh.1/000000"}, ok: true},
		"a value that is closed": {head: `,"whole":["items"]`, ok: true},
	} {
		s := earlier(test.head)
		for _, key := range test.keys {
			write(t, s, s.prefix+key, "x")
		}
		s = another(t, c, s)
		keys := func() string {
			r, err := s.get(t.Context(), "", clientv3.WithPrefix())
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(r.Kvs)
		}
		before := keys()
		b, err := s.Load(t.Context())
		if !test.ok {
			if !errors.Is(err, storage.ErrBroken) || !strings.Contains(err.Error(), "export it with the earlier version and import it again") {
				t.Errorf("%s: Load: %v, want ErrBroken", name, err)
			}
			if _, err := s.Commit(t.Context(), 1, many(1, 10)); !errors.Is(err, storage.ErrBroken) {
				t.Errorf("%s: Commit: %v, want ErrBroken", name, err)
			}
			if after := keys(); after != before {
				t.Errorf("%s: the keys have changed:\n%s\n%s", name, before, after)
			}
			continue
		}
		if err != nil || len(b.Contents) != 1 || len(b.Contents[0].Elements) != 1 {
			t.Errorf("%s: Load: %v, %s", name, err, text(b.Contents))
			continue
		}
		follower := following(t, s, b)
		rev, err := s.Commit(t.Context(), b.Rev, many(1, 10))
		if err != nil {
			t.Errorf("%s: Commit: %v", name, err)
			continue
		}
		if r, err := s.get(t.Context(), headKey); err != nil || !strings.HasPrefix(string(r.Kvs[0].Value), `{"pickup":2,`) {
			t.Errorf("%s: after a commit the head is %v, want one of layout 2", name, r)
		}
		eventually(t, func() bool { _, at, _, err := follower(); return at == rev && err == nil })
		if got, _, resets, _ := follower(); len(got[0].Elements) != 2 || resets > 0 {
			t.Errorf("%s: a follower has %s, %d resets", name, text(got), resets)
		}
	}
}

// TestEarlierServer has a server of an earlier version write a large value while one of
// this version follows. It shows the error and the last state, and commits nothing.
func TestEarlierServer(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[{"id":"1"}]}`)
	first := load(t, s)
	follower := following(t, s, first)
	write(t, s, s.prefix+"p/abcdefgh.1.0/000000", `{"id":"1"}`) // the parts come first
	rev := set(t, s, first.Rev, "2", `{"id":"2"}`)
	eventually(t, func() bool { _, at, _, err := follower(); return at == rev && err == nil })
	if n := s.stats.foreign.Load(); n > 0 {
		t.Errorf("%d keys were taken for hand edits", n)
	}
	head := fmt.Sprintf(`{"pickup":1,"database":%q,"prev":%d,"after":%q,"commit":"abcdefgh.1","keys":2}`, first.Origin, rev, s.id+".2")
	if _, err := s.etcd.Do(t.Context(), clientv3.OpTxn(nil, []clientv3.Op{
		clientv3.OpPut(s.prefix+headKey, head), clientv3.OpPut(s.prefix+"c/000001/items", "[]"),
		clientv3.OpPut(s.prefix+recordKey("items", 0, "1"), "@abcdefgh.1.0/1"),
	}, nil)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { _, _, _, err := follower(); return errors.Is(err, storage.ErrBroken) })
	if got, _, _, err := follower(); len(got[0].Elements) != 2 || !strings.Contains(err.Error(), "export it with the earlier version") {
		t.Errorf("the follower has %s and says %v", text(got), err)
	}
	if _, err := s.Commit(t.Context(), rev, many(1, 10)); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("Commit: %v, want ErrBroken", err)
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
