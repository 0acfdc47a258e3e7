package etcdstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/storage"
)

const randomSample = `{"one":[{"id":"1"},{"id":"1","again":1},7],"obj":{"x":1},"two":[],"n":5,"a/b%\u0001":[{"id":"x/y"}]}`

// randomChanges returns the changes of a commit that contents allow.
func randomChanges(rnd *rand.Rand, contents []storage.Collection, i int) (changes []storage.Change) {
	add := func(name, id, value string) {
		ch := storage.Change{Collection: name, ID: id, Value: jsontext.Value(value)}
		if value == "" {
			ch.Value = nil
		}
		changes = append(changes, ch)
	}
	name := []string{"one", "two", "a/b%\x01"}[rnd.IntN(3)]
	var keys []string
	there := false
	for _, c := range contents {
		if c.Name == name {
			there = c.Kind == storage.Array
			for _, e := range c.Elements {
				keys = append(keys, e.Key)
			}
		}
	}
	if !there {
		add(name, "", `[]`)
	}
	some := func() string { return keys[rnd.IntN(len(keys))] }
	switch k := rnd.IntN(40); {
	case k < 12:
		add(name, fmt.Sprint(i), fmt.Sprintf(`{"id":"%d"}`, i))
	case k < 20 && len(keys) > 0:
		add(name, some(), fmt.Sprintf(`{"n":%d,"m":"<&%s\u2028"}`, i, strings.Repeat("é", rnd.IntN(100))))
	case k < 26 && len(keys) > 0:
		add(name, some(), "")
	case k < 28: // a value that fills a transaction
		add(name, fmt.Sprint("big", rnd.IntN(3)), `{"big":"`+strings.Repeat("x", maxValue-10)+`"}`)
	case k < 30: // more operations than one level has
		for j := range 300 {
			add(name, fmt.Sprint(i, "-", j), fmt.Sprintf(`{"n":%d}`, j))
		}
	case k < 32:
		for j := range 15 {
			add(name, fmt.Sprint(i, "-", j), fmt.Sprintf(`{"n":%d,"t":"<%s"}`, j, strings.Repeat("y", 60<<10)))
		}
		for _, key := range keys {
			if rnd.IntN(2) == 0 {
				add(name, key, "")
			}
		}
	case k < 34:
		add(name, "", `[{"id":"p","x":1},{"id":"p"},3,{"n":"`+strings.Repeat("z", rnd.IntN(100))+`"}]`)
		add(name, "q", `{"id":"q"}`)
	case k < 35: // goes, and comes back at the end
		add(name, "", "")
		add(name, "", `[{"id":"new"}]`)
	case k < 36:
		add(name, "", "")
	case k < 37:
		add("obj", "", `{"big":"`+strings.Repeat("x", rnd.IntN(2)*(maxValue-10))+`"}`)
	case k < 38:
		add("$schema", "", `"./a.json"`)
		if rnd.IntN(2) == 0 {
			add("$schema", "", "")
		}
		add("$schema", "", fmt.Sprintf(`"./%d.json"`, i))
	case k < 39 && len(keys) > 0: // moves to the end
		key := some()
		add(name, key, "")
		add(name, key, `{"moved":true}`)
	default: // a field whose kind changes
		add("three", "", []string{`{"now":"object"}`, `[{"id":1}]`, `5`, ""}[rnd.IntN(4)])
	}
	return changes
}

// TestFollowers makes random changes and compares the store that makes them with one
// that follows and one that loads.
func TestFollowers(t *testing.T) {
	runs, steps := 1, 40
	if long {
		runs, steps = 20, 400
	}
	each(t, func(t *testing.T, c *etcdtest.Cluster) {
		for range runs {
			testFollowers(t, c, steps)
		}
	})
}

func testFollowers(t *testing.T, c *etcdtest.Cluster, steps int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	a := open(t, c, randomSample)
	t.Cleanup(func() { // the long test would fill the disk
		client, _, err := a.etcd.(*nodes).connect()
		if err == nil {
			var r *clientv3.DeleteResponse
			if r, err = client.Delete(context.Background(), a.prefix, clientv3.WithPrefix()); err == nil {
				_, err = client.Compact(context.Background(), r.Header.Revision)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	first := load(t, a)
	follower := following(t, another(t, c, a), first)
	contents, rev := first.Contents, first.Rev
	for i := range steps {
		changes := randomChanges(rnd, contents, i)
		next, err := a.Commit(t.Context(), rev, changes)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		contents, rev = apply(contents, changes), next
		if i%10 != 9 {
			continue
		}
		want := text(contents)
		eventually(t, func() bool { _, at, _, err := follower(); return at >= rev && err == nil })
		if got, _, _, _ := follower(); text(got) != want {
			t.Fatalf("step %d: the follower has\n%.500s\nwant\n%.500s", i, text(got), want)
		}
		fresh := load(t, another(t, c, a))
		if text(fresh.Contents) != want {
			t.Fatalf("step %d: Load returns\n%.500s\nwant\n%.500s", i, text(fresh.Contents), want)
		}
		for j, in := range load(t, a).Contents {
			if in.Rev != fresh.Contents[j].Rev {
				t.Errorf("step %d: %s has the revision %d here and %d there", i, in.Name, in.Rev, fresh.Contents[j].Rev)
			}
		}
	}
	if _, _, resets, _ := follower(); resets > 0 {
		t.Errorf("the follower has loaded everything %d times", resets)
	}
}

// TestPlan turns random changes into operations and those, as events, into changes
// again, and compares what both make of a plain model. No etcd is asked.
func TestPlan(t *testing.T) {
	steps := 300
	if long {
		steps = 1_000_000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	s := newStore(nil, "/p/", nil)
	var want, got []storage.Collection
	reset := func() {
		want = contentsOf(randomSample)
		got = want
		d := newStep()
		d.head = &head{Layout: layout, rev: 1}
		for i, in := range want {
			m := pair{at: uint64(i + 1), name: in.Name, value: in.Value, rev: 1}
			if in.Kind == storage.Array {
				m.value = []byte("[]")
			}
			d.fields = append(d.fields, m)
			for at, e := range in.Elements {
				d.records[in.Name] = append(d.records[in.Name], pair{at: uint64(at), name: e.Key, value: e.Value})
			}
		}
		s.state = &state{fields: make(map[string]*field), nextRank: 1}
		s.state.apply(d)
	}
	reset()
	keys := make(map[string]bool)
	for i := range steps {
		if i%200 == 0 {
			reset()
			clear(keys)
			for _, in := range want {
				for at, e := range in.Elements {
					keys[recordKey(in.Name, uint64(at), e.Key)] = true
				}
				keys[fieldKey(s.state.fields[in.Name].rank, in.Name)] = true
			}
		}
		changes := randomChanges(rnd, want, i)
		for j := range changes {
			if len(changes[j].Value) > 1000 {
				changes[j].Value = jsontext.Value(`{"short":true}`)
			}
		}
		p, err := newPlan(s.state, s.idField, changes)
		if err != nil {
			t.Fatal(err)
		}
		ops, whole := p.ops()
		h := s.nextHead(s.state.head)
		h.Whole = whole
		h.Keys = countKeys(ops)
		rev := s.state.head.rev + 1
		events := []*clientv3.Event{{Kv: &mvccpb.KeyValue{Key: []byte(s.prefix + headKey), Value: []byte(h.encode()), ModRevision: rev}}}
		seen := make(map[string]bool)
		event := func(key string, value []byte) {
			if seen[key] {
				t.Fatalf("step %d: two operations of a transaction are for the key %q", i, key)
			}
			seen[key] = true
			e := &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte(s.prefix + key), Value: value, ModRevision: rev}}
			if value == nil {
				e.Type = clientv3.EventTypeDelete
			}
			events = append(events, e)
		}
		before := make(map[string]bool, len(keys))
		for key := range keys {
			before[key] = true
		}
		for _, o := range ops {
			switch {
			case o.value != nil:
				event(o.key, o.value)
				keys[o.key] = true
			case o.end == "":
				event(o.key, nil)
				delete(keys, o.key)
			default:
				for key := range before {
					if key >= o.key && key < o.end {
						event(key, nil)
						delete(keys, key)
					}
				}
			}
		}
		d, err := s.decode(events)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		s.advance(d)
		want, got = apply(want, changes), apply(got, d.batch.Changes)
		if text(want) != text(got) {
			t.Fatalf("step %d: %s\nlead to\n%.2000s\nwant\n%.2000s", i, describe(changes), text(got), text(want))
		}
	}
}

func describe(changes []storage.Change) string {
	var b strings.Builder
	for _, ch := range changes {
		fmt.Fprintf(&b, "%q %q %.80s\n", ch.Collection, ch.ID, ch.Value)
	}
	return b.String()
}
