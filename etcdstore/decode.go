package etcdstore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A step is what the events of one revision say.
type step struct {
	rev     int64
	head    *head // nil: it was not written
	foreign bool  // somebody wrote contents without a head
	reload  bool  // what changed is not known
	batch   storage.Batch

	gone    map[string]bool // names of members that were deleted
	set     []memberPair    // members that were written, by rank
	records []recordStep    // by collection and place
}

// A recordStep puts or deletes a record.
type recordStep struct {
	recordPair
	name    string // of its collection
	deleted bool
}

// isEarlier reports whether only earlier versions write a key, for what was too large for
// one value or transaction.
func isEarlier(key string) bool {
	return strings.HasPrefix(key, partKeys) || strings.HasPrefix(key, stagedKeys)
}

// decode returns what the events of one revision say.
func (s *Store) decode(events []*clientv3.Event) (*step, error) {
	d := &step{rev: events[0].Kv.ModRevision, gone: make(map[string]bool)}
	keys := 0
	for _, e := range events {
		switch key := strings.TrimPrefix(string(e.Kv.Key), s.prefix); {
		case isEarlier(key):
		case key != headKey:
			keys++
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
		d.foreign = keys > 0
		return d, nil
	case d.head.Reload:
		d.reload = true
		return d, nil
	case keys != d.head.Keys: // see I9
		s.stats.gaps.Add(1)
		s.log.Error("etcd has not reported every key of a commit; loading everything", "revision", d.rev, "keys", keys, "of", d.head.Keys)
		d.reload = true
		return d, nil
	}
	d.batch = storage.Batch{
		Rev:   storage.Rev(d.rev),
		After: storage.Rev(d.head.Prev),
		Own:   strings.HasPrefix(d.head.Commit, s.me+"."),
	}
	for _, e := range events {
		if err := d.add(strings.TrimPrefix(string(e.Kv.Key), s.prefix), e.Kv.Value, e.Type == clientv3.EventTypeDelete); err != nil {
			return d, err
		}
	}
	d.changes()
	return d, nil
}

// add adds the event of one key.
func (d *step) add(key string, value []byte, deleted bool) error {
	switch {
	case key == headKey, isEarlier(key):
	case !deleted && !jsontext.Value(value).IsValid():
		return notJSON(key)
	case key == rulesKey:
		d.batch.Rules = value
		if deleted {
			d.batch.Rules = []byte{}
		}
	case strings.HasPrefix(key, memberKeys):
		rank, name, ok := parseMember(key[len(memberKeys):])
		switch {
		case !ok:
			return strange(key)
		case deleted:
			d.gone[name] = true
		default:
			d.set = append(d.set, memberPair{rank: rank, name: name, value: value})
		}
	default:
		name, at, id, ok := parseRecord(strings.TrimPrefix(key, recordKeys))
		if !ok || !strings.HasPrefix(key, recordKeys) {
			return strange(key)
		}
		d.records = append(d.records, recordStep{recordPair{at: at, key: id, value: value}, name, deleted})
	}
	return nil
}

// changes sets the changes of the batch: first of members, then of elements.
func (d *step) changes() {
	slices.SortFunc(d.set, memberPair.compare)
	slices.SortStableFunc(d.records, func(a, b recordStep) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.at, b.at))
	})
	add := func(name, id string, v jsontext.Value) {
		d.batch.Changes = append(d.batch.Changes, storage.Change{Collection: name, ID: id, Value: v})
	}
	whole := make(map[string]bool) // the members whose elements need no changes
	for name := range d.gone {
		whole[name] = true
		add(name, "", nil)
	}
	for _, m := range d.set {
		switch {
		case kindOf(m.name, m.value) != storage.Array:
			whole[m.name] = true
			add(m.name, "", m.value)
		case slices.Contains(d.head.Whole, m.name):
			v, same := d.array(m.name, idMemberOf(m.value))
			whole[m.name] = same
			add(m.name, "", v)
		}
	}
	for _, deleted := range []bool{true, false} {
		for _, r := range d.records {
			if r.deleted == deleted && !whole[r.name] && !(deleted && slices.Contains(d.head.Whole, r.name)) {
				add(r.name, r.key, r.value)
			}
		}
	}
}

// array returns the collection that the records of a step make. If the keys of its
// elements would be others than those of the records, it returns an empty one and
// false: each record has to be a change of its own.
func (d *step) array(name, idMember string) (v jsontext.Value, ok bool) {
	v = []byte{'['}
	keys := storage.NewKeys(idMember)
	for _, r := range d.records {
		if r.name != name || r.deleted {
			continue
		}
		if keys.Next(r.value) != r.key {
			return []byte("[]"), false
		}
		v = append(rawjson.AppendComma(v), r.value...)
	}
	return append(v, ']'), true
}

// noteLocked makes a step what the next commit starts from, if it follows the state.
// The caller holds s.mu.
func (s *Store) noteLocked(d *step) {
	if s.loading > 0 {
		s.pending = append(s.pending, d)
	}
	st := s.state
	if st == nil || d.head.Prev != st.rev {
		return
	}
	st.rev, st.asOf, st.head = d.rev, d.rev, *d.head
	if d.batch.Rules != nil {
		st.rules = len(d.batch.Rules) > 0
	}
	for name := range d.gone {
		delete(st.members, name)
	}
	for _, m := range d.set {
		kind := kindOf(m.name, m.value)
		st.rank = max(st.rank, m.rank+1)
		known := st.members[m.name]
		if known == nil || slices.Contains(d.head.Whole, m.name) || known.kind != kind {
			known = &member{}
			if kind == storage.Array {
				known.places = make(map[string]uint64)
			}
			st.members[m.name] = known
		}
		known.rank, known.kind, known.ids = m.rank, kind, idMemberOf(m.value)
	}
	for _, r := range d.records {
		m := st.members[r.name]
		switch {
		case m == nil || m.places == nil:
		case !r.deleted:
			m.places[r.key] = r.at
			m.next = max(m.next, r.at+1)
		case m.places[r.key] == r.at:
			delete(m.places, r.key)
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
