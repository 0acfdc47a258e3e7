package etcdstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Limits of a page of a load: the keys of the first page, of any page, and of a page of
// parts, and about how many bytes. For each page etcd counts all keys that follow.
const (
	firstPage = 8
	largePage = 5000
	partPage  = 64
	pageBytes = 4 << 20
)

// contents are the keys of a database at one revision.
type contents struct {
	prefix    string
	rev, asOf int64 // of the head, and of the cluster
	head      head
	rules     []byte // nil: none
	edited    int64  // the latest revision of a key that was written after the head
	members   []memberPair
	records   map[string][]recordPair // by collection, in their order
}

type memberPair struct {
	rank  uint64
	name  string
	value jsontext.Value
	parts string
	rev   int64
}

// compare orders members by their ranks. Two have the same only if they were written by
// hand.
func (m memberPair) compare(other memberPair) int {
	return cmp.Or(cmp.Compare(m.rank, other.rank), strings.Compare(m.name, other.name))
}

type recordPair struct {
	at    uint64
	key   string
	value jsontext.Value
	parts string
}

// Load returns the contents at the latest revision. Errors wrap storage.ErrAway,
// storage.ErrBroken, or fs.ErrNotExist if there is no database.
func (s *Store) Load(ctx context.Context) (storage.Batch, error) {
	b, err := s.load(ctx)
	if err == nil {
		s.show(b.Rev)
	}
	return b, err
}

// load is Load for a caller that may not yield what it returns.
func (s *Store) load(ctx context.Context) (storage.Batch, error) {
	s.mu.Lock()
	s.loading++
	known := int64(0)
	if s.state != nil {
		known = s.state.rev
	}
	s.mu.Unlock()
	began := time.Now()
	c, err := s.read(ctx)
	for isCompacted(err) && ctx.Err() == nil { // reading took too long
		began = time.Now()
		c, err = s.read(ctx)
	}
	var b storage.Batch
	var st *state
	if err == nil {
		b, st, err = c.batch()
	}
	if err == nil {
		err = s.belongs(c.head, c.rev, known)
	}
	err = s.failure(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading--
	if err == nil || errors.Is(err, storage.ErrBroken) {
		s.broken = err
	}
	if err == nil && (s.state == nil || s.state.rev < st.rev || s.state.rev == st.rev && s.state.asOf < st.asOf) {
		s.state, s.away = st, nil
		s.sawLocked(st.rev, began)
		for _, e := range s.pending {
			s.noteLocked(e)
		}
	}
	if s.loading == 0 {
		s.pending = nil
	}
	return b, err
}

// read reads all keys, in pages at one revision.
func (s *Store) read(ctx context.Context) (*contents, error) {
	c := &contents{prefix: s.prefix, records: make(map[string][]recordPair)}
	found, newest := false, int64(0)
	each := func(key string, kv *mvccpb.KeyValue) (err error) {
		switch {
		case key == headKey:
			found, c.rev = true, kv.ModRevision
			c.head, err = decodeHead(kv.Value)
		case key == rulesKey:
			c.rules, newest = kv.Value, max(newest, kv.ModRevision)
		default:
			newest = max(newest, kv.ModRevision)
			err = c.add(key, kv.Value, kv.ModRevision)
		}
		return err
	}
	at := s.scanAt(0)
	// Under p/ and t/, only keys that something points to count.
	for _, keys := range [][2]string{{"", partKeys}, {prefixEnd(partKeys), stagedKeys}, {prefixEnd(stagedKeys), ""}} {
		if err := at.keys(ctx, keys[0], keys[1], largePage, each); err != nil {
			return nil, err
		}
	}
	c.asOf = at.rev
	if !found {
		return nil, s.absent()
	}
	switch {
	case c.head.Open == nil && newest > c.rev:
		c.edited = newest
	case c.head.Open != nil:
		ops, err := at.staged(ctx, c.head.Open)
		if err != nil {
			return nil, err
		}
		if err := c.overlay(ops); err != nil {
			return nil, err
		}
	}
	return c, c.resolve(ctx, at)
}

// A scan reads keys in pages, all at one revision.
type scan struct {
	*Store
	rev     int64  // of the cluster; 0: the latest
	cluster uint64 // the id of the cluster, 0: not known yet

	ahead map[string][]*mvccpb.KeyValue // the parts of the last commit that was read, by name
}

// scanAt returns a scan of the keys as they were at a revision.
func (s *Store) scanAt(rev int64) *scan { return &scan{Store: s, rev: rev} }

// keys calls each for the keys in [from, to), where an empty to is the end of the prefix.
// A page has at most so many keys.
func (s *scan) keys(ctx context.Context, from, to string, most int64, each func(key string, kv *mvccpb.KeyValue) error, o ...clientv3.OpOption) error {
	end := s.prefix + to
	if to == "" {
		end = prefixEnd(s.prefix)
	}
	limit := int64(min(firstPage, most))
	for more := true; more; {
		page, err := s.page(ctx, from, append(o, clientv3.WithRange(end)), &limit)
		if err != nil {
			return err
		}
		if s.rev == 0 {
			s.rev = page.Header.Revision
		}
		if s.cluster == 0 {
			s.cluster = page.Header.ClusterId
		}
		if page.Header.ClusterId != s.cluster {
			return errOther
		}
		size := 0
		for _, kv := range page.Kvs {
			size += len(kv.Value)
			from = strings.TrimPrefix(string(kv.Key), s.prefix)
			if err := each(from, kv); err != nil {
				return err
			}
		}
		more = page.More
		from += "\x00"
		limit = min(most, 2*limit, max(1, limit*pageBytes/int64(max(size, 1))))
	}
	return nil
}

// page reads up to limit keys, beginning at from. If that times out, it lowers the limit
// and tries again.
func (s *scan) page(ctx context.Context, from string, o []clientv3.OpOption, limit *int64) (page *clientv3.GetResponse, err error) {
	for try := 0; ; try++ {
		call, cancel := context.WithTimeout(ctx, writeTime)
		page, err = s.get(call, from, append(o, clientv3.WithLimit(*limit), clientv3.WithRev(s.rev))...)
		cancel()
		if !isAway(err) || try == 2 || ctx.Err() != nil {
			return page, err
		}
		*limit = max(1, *limit/16)
		time.Sleep(repeatAfter)
	}
}

// parts reads the parts of a value or of a staged batch. It reads those of all values of
// a commit at once.
func (s *scan) parts(ctx context.Context, keys, name string) (kvs []*mvccpb.KeyValue, err error) {
	from := partsOf(keys, name)
	if keys == partKeys {
		from = keys + name[:strings.LastIndexByte(name, '.')+1]
	}
	if s.ahead[name] == nil {
		s.ahead = make(map[string][]*mvccpb.KeyValue)
		err = s.keys(ctx, from, prefixEnd(from), partPage, func(key string, kv *mvccpb.KeyValue) error {
			of := path.Dir(key[len(keys):])
			s.ahead[of] = append(s.ahead[of], kv)
			return nil
		})
	}
	kvs = s.ahead[name]
	delete(s.ahead, name)
	return kvs, err
}

// staged reads an open batch.
func (s *scan) staged(ctx context.Context, open *batch) ([]op, error) {
	kvs, err := s.parts(ctx, stagedKeys, open.Name)
	if err != nil {
		return nil, err
	}
	return joinOps(open, s.prefix, kvs)
}

// value replaces *v, the value of key, by what it points to and sets *name to the name of
// its parts, if it is a pointer. It fails if the result is not JSON.
func (s *scan) value(ctx context.Context, key string, v *jsontext.Value, name *string) error {
	if parts, count, ok := parsePointer(*v); ok {
		kvs, err := s.parts(ctx, partKeys, parts)
		if err != nil {
			return err
		}
		if len(kvs) != count {
			return notJSON(s.prefix + key)
		}
		*v, *name = nil, parts
		for _, kv := range kvs {
			*v = append(*v, kv.Value...)
		}
	}
	if !v.IsValid() {
		return notJSON(s.prefix + key)
	}
	return nil
}

// add adds a member or a record.
func (c *contents) add(key string, value []byte, rev int64) error {
	if rest, ok := strings.CutPrefix(key, recordKeys); ok {
		name, at, id, ok := parseRecord(rest)
		if !ok {
			return strange(c.prefix + key)
		}
		c.records[name] = append(c.records[name], recordPair{at: at, key: id, value: value})
		return nil
	}
	rest, ok := strings.CutPrefix(key, memberKeys)
	rank, name, valid := parseMember(rest)
	if !ok || !valid {
		return strange(c.prefix + key)
	}
	c.members = append(c.members, memberPair{rank: rank, name: name, value: value, rev: rev})
	return nil
}

// overlay applies the open batch, a part of which may be in the records already.
func (c *contents) overlay(ops []op) error {
	all := make(map[string][]byte)
	for name, records := range c.records {
		for _, r := range records {
			all[recordKey(name, r.at, r.key)] = r.value
		}
	}
	for _, o := range ops {
		switch {
		case o.value != nil:
			all[o.key] = o.value
		case o.end == "":
			delete(all, o.key)
		case strings.HasPrefix(o.key, recordKeys):
			for key := range all {
				if key >= o.key && key < o.end {
					delete(all, key)
				}
			}
		}
	}
	c.records = make(map[string][]recordPair)
	for key, value := range all {
		if err := c.add(key, value, 0); err != nil {
			return err
		}
	}
	for _, records := range c.records {
		slices.SortFunc(records, func(a, b recordPair) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.key, b.key)) })
	}
	return nil
}

// resolve replaces pointers by the values that they lead to, and checks the values. It
// goes by the names of the parts, so that those of a commit are read once.
func (c *contents) resolve(ctx context.Context, at *scan) error {
	type value struct {
		key   string
		v     *jsontext.Value
		parts *string
	}
	var pointers []value
	check := func(v value) error {
		if _, _, ok := parsePointer(*v.v); ok {
			pointers = append(pointers, v)
			return nil
		}
		return at.value(ctx, v.key, v.v, v.parts)
	}
	for i := range c.members {
		m := &c.members[i]
		if err := check(value{memberKey(m.rank, m.name), &m.value, &m.parts}); err != nil {
			return err
		}
	}
	for name, records := range c.records {
		for i := range records {
			r := &records[i]
			if err := check(value{recordKey(name, r.at, r.key), &r.value, &r.parts}); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(pointers, func(a, b value) int { return bytes.Compare(*a.v, *b.v) })
	for _, p := range pointers {
		if err := at.value(ctx, p.key, p.v, p.parts); err != nil {
			return err
		}
	}
	return nil
}

// A brokenError is about a key that somebody has written past pickup.
type brokenError struct{ key, reason string }

func (e *brokenError) Error() string { return "the key " + e.key + " " + e.reason }

func (e *brokenError) Unwrap() error {
	return &storage.AdviceError{Err: storage.ErrBroken, Advice: e.Error()}
}

func notJSON(key string) error {
	return &brokenError{key, "is not JSON: correct it with etcdctl put"}
}

func strange(key string) error {
	return &brokenError{key, "is not a key of pickup: delete it with etcdctl del"}
}

// batch returns the contents as Load does, and what a commit must know of them.
func (c *contents) batch() (storage.Batch, *state, error) {
	st := &state{rev: c.rev, asOf: c.asOf, edited: c.edited, head: c.head, rules: c.rules != nil, members: make(map[string]*member), rank: 1}
	b := storage.Batch{Rev: storage.Rev(c.rev), Reset: true, Rules: append([]byte{}, c.rules...), Origin: c.head.Database}
	replaced := c.head.Reset // by hand
	if c.head.Reload {
		replaced = c.rev
	}
	b.Edited = storage.Rev(replaced)
	// Ranks with more digits than others are not in the order of the keys.
	slices.SortFunc(c.members, memberPair.compare)
	for _, m := range c.members {
		in := storage.Collection{Name: m.name, Kind: kindOf(m.name, m.value), Rev: storage.Rev(max(m.rev, replaced))}
		known := &member{rank: m.rank, kind: in.Kind, parts: m.parts}
		st.rank = max(st.rank, m.rank+1)
		if in.Kind == storage.Array {
			known.ids = idMemberOf(m.value)
			records := c.records[m.name]
			known.places = make(map[string]place, len(records))
			in.Elements = make([]storage.Element, len(records))
			for i, r := range records {
				if _, twice := known.places[r.key]; twice {
					return b, nil, &brokenError{c.prefix + recordKey(m.name, r.at, r.key), "has the id of another record: delete one of them with etcdctl del"}
				}
				in.Elements[i] = storage.Element{Key: r.key, Value: r.value, Compact: rawjson.IsCompact(r.value)}
				known.places[r.key] = place{r.at, r.parts}
				known.next = r.at + 1
			}
		} else {
			in.Value = m.value
		}
		st.members[m.name] = known
		b.Contents = append(b.Contents, in)
	}
	return b, st, nil
}
