package etcdstore

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// A step is what the events of one revision say, or all keys of a load.
type step struct {
	rev    int64
	head   *head // nil: it was not written
	edited bool  // somebody wrote contents without a head
	reload bool  // what changed is not known
	batch  storage.Batch

	members []pair            // by their ranks
	records map[string][]pair // by their places, of each collection
}

// A pair is a key under c/ or r/ and its value.
type pair struct {
	at    uint64         // the rank or the place
	name  string         // of the member, or the key of the record
	value jsontext.Value // nil: it was deleted
	rev   int64
}

func (p pair) compare(other pair) int {
	return cmp.Or(cmp.Compare(p.at, other.at), strings.Compare(p.name, other.name)) // the same rank: by hand
}

func newStep(rev int64) *step {
	return &step{rev: rev, records: make(map[string][]pair)}
}

// decode returns what the events of one revision say.
func (s *Store) decode(events []*clientv3.Event) (*step, error) {
	d := newStep(events[0].Kv.ModRevision)
	keys := 0
	var broken error // of a key; the head decides whether it counts
	for _, e := range events {
		switch key := strings.TrimPrefix(string(e.Kv.Key), s.prefix); {
		case key != headKey:
			keys++
			broken = cmp.Or(broken, d.read(s.prefix, e.Kv, e.Type == clientv3.EventTypeDelete))
		case e.Type == clientv3.EventTypeDelete:
			return d, s.absent()
		default:
			h, err := decodeHead(e.Kv.Value)
			if err == nil {
				err = s.checkHead(h, d.rev, 0)
			}
			if err != nil {
				return d, err
			}
			d.head = &h
		}
	}
	switch {
	case d.head == nil:
		d.edited = true
		return d, nil
	case d.head.Reload:
		d.reload = true
		return d, nil
	case keys != d.head.Keys: // see I9
		s.stats.gaps.Add(1)
		s.log.Error("etcd has not reported every key of a commit; loading everything", "revision", d.rev, "keys", keys, "of", d.head.Keys)
		d.reload = true
		return d, nil
	case broken != nil:
		return d, broken
	}
	d.sort()
	d.batch.Rev, d.batch.After = storage.Rev(d.rev), storage.Rev(d.head.Prev)
	d.batch.Own = strings.HasPrefix(d.head.Commit, s.id+".")
	d.batch.Changes = d.changes()
	return d, nil
}

// read adds what etcd has under a key, and checks it.
func (d *step) read(prefix string, kv *mvccpb.KeyValue, deleted bool) error {
	value := kv.Value
	if deleted {
		value = nil
	} else if !jsontext.Value(value).IsValid() {
		return broken("the key %s is not JSON: correct it with etcdctl put", kv.Key)
	}
	if !d.add(strings.TrimPrefix(string(kv.Key), prefix), value, kv.ModRevision) {
		return broken("the key %s is not a key of pickup: delete it with etcdctl del", kv.Key)
	}
	return nil
}

// add adds the value of a key, nil if it was deleted. It reports whether the key is one of
// a database.
func (d *step) add(key string, value []byte, rev int64) bool {
	if key == rulesKey {
		d.batch.Rules = append([]byte{}, value...)
		return true
	}
	collection, p, isRecord, ok := parseKey(key)
	p.value, p.rev = value, rev
	switch {
	case !ok:
	case isRecord:
		records := d.records[collection]
		if len(records) == cap(records) {
			records = slices.Grow(records, 2*len(records)) // append would copy many records five times
		}
		d.records[collection] = append(records, p)
	default:
		d.members = append(d.members, p)
	}
	return ok
}

// sort puts members and records in their order, which is not the order of the keys if a
// number has more digits than others. What was deleted and added again is deleted first.
func (d *step) sort() {
	slices.SortFunc(d.members, pair.compare)
	for _, records := range d.records {
		slices.SortFunc(records, pair.compare)
	}
}

// changes returns the changes: first of members, then of elements.
func (d *step) changes() (changes []storage.Change) {
	add := func(name, id string, v jsontext.Value) {
		changes = append(changes, storage.Change{Collection: name, ID: id, Value: v})
	}
	replaced := make(map[string]bool) // the members without elements that have to be deleted
	for _, m := range d.members {
		switch whole := slices.Contains(d.head.Whole, m.name); {
		case m.value == nil || storage.KindOf(m.name, m.value) != storage.Array:
			replaced[m.name] = true
			add(m.name, "", m.value)
		case whole:
			replaced[m.name] = true
			add(m.name, "", jsontext.Value("[]"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.records)) {
		for _, r := range d.records[name] {
			if r.value != nil || !replaced[name] {
				add(name, r.name, r.value)
			}
		}
	}
	return changes
}

// noteLocked applies a step to the store's state, if it follows that. The caller holds s.mu.
func (s *Store) noteLocked(d *step) {
	if s.state != nil && s.state.rev == d.head.Prev {
		s.state.apply(d)
	}
}

// apply makes st what a commit must know after a step.
func (st *state) apply(d *step) {
	st.rev, st.asOf, st.head = d.rev, d.rev, *d.head
	if d.batch.Rules != nil {
		st.rules = len(d.batch.Rules) > 0
	}
	for _, in := range d.members {
		if in.value == nil {
			delete(st.members, in.name)
			continue
		}
		kind := storage.KindOf(in.name, in.value)
		m := st.members[in.name]
		if m == nil || slices.Contains(d.head.Whole, in.name) || m.kind != kind {
			m = &member{}
			if kind == storage.Array {
				m.places = make(map[string]uint64, len(d.records[in.name]))
			}
			st.members[in.name] = m
		}
		m.rank, m.kind, m.ids = in.at, kind, idMemberOf(in.value)
		st.rank = max(st.rank, in.at+1)
	}
	for name, records := range d.records {
		m := st.members[name]
		if m == nil || m.places == nil {
			continue
		}
		for _, r := range records {
			if r.value != nil {
				m.places[r.name] = r.at
				m.next = max(m.next, r.at+1)
			} else if m.places[r.name] == r.at {
				delete(m.places, r.name)
			}
		}
	}
}

// byRevision returns events in groups of one revision.
func byRevision(events []*clientv3.Event) (groups [][]*clientv3.Event) {
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Kv.ModRevision == events[0].Kv.ModRevision {
			n++
		}
		groups = append(groups, events[:n])
		events = events[n:]
	}
	return groups
}
