package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Limits of a page of a load: the keys of the first page and of any page, and about how
// many bytes. For each page etcd counts all keys that follow.
const (
	firstPage = 8
	largePage = 5000
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
		err = s.checkHead(c.head, c.rev, known)
	}
	err = s.failure(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading--
	if err == nil || errors.Is(err, storage.ErrBroken) {
		s.broken = err
	}
	if err == nil && st.rev >= s.seen.rev {
		s.seen = sighting{st.rev, began}
	}
	if err == nil && (s.state == nil || s.state.rev < st.rev || s.state.rev == st.rev && s.state.asOf < st.asOf) {
		s.state, s.away = st, nil
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
		case strings.HasPrefix(key, stagedKeys): // of a batch that never counted
		case key == rulesKey:
			c.rules, newest = kv.Value, max(newest, kv.ModRevision)
		default:
			newest = max(newest, kv.ModRevision)
			err = c.add(key, kv.Value, kv.ModRevision)
		}
		return err
	}
	at := &scan{Store: s}
	if err := at.keys(ctx, each); err != nil {
		return nil, err
	}
	c.asOf = at.rev
	if !found {
		return nil, s.absent()
	}
	if newest > c.rev {
		c.edited = newest
	}
	return c, nil
}

// A scan reads keys in pages, all at one revision.
type scan struct {
	*Store
	rev     int64  // of the cluster; 0: the latest
	cluster uint64 // the id of the cluster, 0: not known yet
}

// keys calls each for the keys under the prefix.
func (s *scan) keys(ctx context.Context, each func(key string, kv *mvccpb.KeyValue) error, o ...clientv3.OpOption) error {
	from, limit := "", int64(firstPage)
	for more := true; more; {
		page, err := s.page(ctx, from, append(o, clientv3.WithRange(prefixEnd(s.prefix))), &limit)
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
		limit = min(largePage, 2*limit, max(1, limit*pageBytes/int64(max(size, 1))))
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

// add adds a member or a record.
func (c *contents) add(key string, value []byte, rev int64) error {
	switch {
	case strings.HasPrefix(key, partKeys): // values are in parts
		return earlier(c.prefix + key)
	case value != nil && !jsontext.Value(value).IsValid():
		return notJSON(c.prefix + key)
	}
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

// A brokenError is about a key that somebody has written past pickup.
type brokenError struct{ key, reason string }

func (e *brokenError) Error() string { return "the key " + e.key + " " + e.reason }

func (e *brokenError) Unwrap() error {
	return &storage.AdviceError{Err: storage.ErrBroken, Advice: e.Error()}
}

func notJSON(key string) error {
	return &brokenError{key, "is not JSON: correct it with etcdctl put"}
}

// earlier returns the error of a database that an earlier version has to export.
func earlier(key string) error {
	return &brokenError{key, "has a form that this version cannot read: the database is of an earlier version; export it with the earlier version and import it again"}
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
		known := &member{rank: m.rank, kind: in.Kind}
		st.rank = max(st.rank, m.rank+1)
		if in.Kind == storage.Array {
			known.ids = idMemberOf(m.value)
			records := c.records[m.name]
			known.places = make(map[string]uint64, len(records))
			in.Elements = make([]storage.Element, len(records))
			for i, r := range records {
				if _, twice := known.places[r.key]; twice {
					return b, nil, &brokenError{c.prefix + recordKey(m.name, r.at, r.key), "has the id of another record: delete one of them with etcdctl del"}
				}
				in.Elements[i] = storage.Element{Key: r.key, Value: r.value, Compact: rawjson.IsCompact(r.value)}
				known.places[r.key] = r.at
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
