package etcdstore

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// A step is the content of the events of one revision, or of all keys in a load.
type step struct {
	head    *head // nil: a hand edit
	batch   storage.Batch
	fields  []pair            // sorted by rank
	records map[string][]pair // of each collection, sorted by place
}

// A pair is the key of a field or a record, and its value.
type pair struct {
	at    uint64         // the rank or the place
	name  string         // the name of the field, or the key of the record
	value jsontext.Value // nil: deleted
	rev   int64
}

func (p pair) compare(other pair) int {
	// Only hand edits can lead to equal ranks.
	return cmp.Or(cmp.Compare(p.at, other.at), strings.Compare(p.name, other.name))
}

func newStep() *step { return &step{records: make(map[string][]pair)} }

// errReload is the error of decode for a head with Reload, or a commit that etcd did not
// report completely.
var errReload = errors.New("the changes are unknown")

// decode returns the content of the events of one revision.
func (s *Store) decode(events []*clientv3.Event) (*step, error) {
	d := newStep()
	keys := 0
	var invalid error // of a key; does not matter if the head says reload
	for _, e := range events {
		isDelete := e.Type == clientv3.EventTypeDelete
		if strings.TrimPrefix(string(e.Kv.Key), s.prefix) != headKey {
			keys++
			invalid = cmp.Or(invalid, d.read(s.prefix, e.Kv, isDelete))
			continue
		}
		if isDelete {
			return d, s.missingError()
		}
		h, err := decodeHead(e.Kv)
		if err == nil {
			err = s.checkHead(h, 0)
		}
		if err != nil {
			return d, err
		}
		d.head = &h
	}
	if d.head == nil {
		return d, nil
	}
	if d.head.Reload {
		return d, errReload
	}
	if keys != d.head.Keys { // see I9
		s.stats.gaps.Add(1)
		s.log.Error("etcd did not report every key of a commit; loading everything",
			"revision", d.head.rev, "keys", keys, "of", d.head.Keys)
		return d, errReload
	}
	if invalid != nil {
		return d, invalid
	}
	d.sort()
	d.batch.Rev = storage.Rev(d.head.rev)
	d.batch.After = storage.Rev(d.head.Prev)
	d.batch.Own = strings.HasPrefix(d.head.Commit, s.id+".")
	d.batch.Changes = d.changes()
	return d, nil
}

// read checks and adds a key and its value.
func (d *step) read(prefix string, kv *mvccpb.KeyValue, isDelete bool) error {
	value := kv.Value
	if isDelete {
		value = nil
	} else if !jsontext.Value(value).IsValid() {
		return broken("the value of %s is not JSON: correct it with etcdctl put", kv.Key)
	}
	if !d.add(strings.TrimPrefix(string(kv.Key), prefix), value, kv.ModRevision) {
		return broken("%s is not a key of pickup: delete it with etcdctl del", kv.Key)
	}
	return nil
}

// add adds a key and the value, nil for a deleted key. It reports whether a database has
// such keys.
func (d *step) add(key string, value []byte, rev int64) bool {
	if key == rulesKey {
		d.batch.Rules = append([]byte{}, value...)
		return true
	}
	collection, p, isRecord, ok := parseKey(key)
	if !ok {
		return false
	}
	p.value = value
	p.rev = rev
	if !isRecord {
		d.fields = append(d.fields, p)
		return true
	}
	d.records[collection] = append(d.records[collection], p)
	return true
}

// sort sorts fields by rank and records by place. The order of the keys differs if some
// numbers have more digits than others. If a record was deleted and added again, the
// deletion comes first.
func (d *step) sort() {
	slices.SortFunc(d.fields, pair.compare)
	for _, records := range d.records {
		slices.SortFunc(records, pair.compare)
	}
}

// changes returns the changes of the step: of whole fields, then of records.
func (d *step) changes() (changes []storage.Change) {
	replaced := make(map[string]bool)
	for _, f := range d.fields {
		value := f.value
		if value != nil && storage.KindOf(f.name, value) == storage.Array {
			if !slices.Contains(d.head.Whole, f.name) {
				continue
			}
			value = jsontext.Value("[]")
		}
		replaced[f.name] = true
		changes = append(changes, storage.Change{Collection: f.name, Value: value})
	}
	for _, name := range slices.Sorted(maps.Keys(d.records)) {
		for _, r := range d.records[name] {
			if r.value != nil || !replaced[name] {
				changes = append(changes, storage.Change{Collection: name, ID: r.name, Value: r.value})
			}
		}
	}
	return changes
}

// advance applies a step to the known state, if the step follows that state.
func (s *Store) advance(d *step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceLocked(d)
}

func (s *Store) advanceLocked(d *step) {
	if s.state != nil && s.state.head.rev == d.head.Prev {
		s.state.apply(d)
	}
}

// apply turns st into the state after a step.
func (st *state) apply(d *step) {
	st.head = *d.head
	st.asOf = d.head.rev
	if d.batch.Rules != nil {
		st.hasRules = len(d.batch.Rules) > 0
	}
	for _, in := range d.fields {
		if in.value == nil {
			delete(st.fields, in.name)
			continue
		}
		kind := storage.KindOf(in.name, in.value)
		f := st.fields[in.name]
		if f == nil || slices.Contains(d.head.Whole, in.name) || f.kind != kind {
			f = &field{kind: kind}
			if kind == storage.Array {
				f.places = make(map[string]uint64, len(d.records[in.name]))
			}
			st.fields[in.name] = f
		}
		f.rank = in.at
		f.idField = idFieldOf(in.value)
		st.nextRank = max(st.nextRank, in.at+1)
	}
	for name, records := range d.records {
		f := st.fields[name]
		if f != nil && f.places != nil {
			f.apply(records)
		}
	}
}

// apply applies changes of records to a collection.
func (f *field) apply(records []pair) {
	for _, r := range records {
		if r.value != nil {
			f.places[r.name] = r.at
			f.nextPlace = max(f.nextPlace, r.at+1)
		} else if f.places[r.name] == r.at {
			delete(f.places, r.name)
		}
	}
}

// byRevision returns events in groups of the same revision.
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
