package etcdstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// The size of pages. Few pages are fast, because etcd counts all remaining keys for each.
const (
	firstPage  = 64      // keys
	largePage  = 50_000  // keys
	pageGrowth = 64      // factor from page to page
	pageBytes  = 8 << 20 // of values, about
)

// Load returns the contents at the latest revision. Errors wrap storage.ErrAway,
// storage.ErrBroken, or fs.ErrNotExist if there is no database.
func (s *Store) Load(ctx context.Context) (storage.Batch, error) {
	started := time.Now()
	b, err := s.load(ctx)
	if err == nil {
		s.setFresh(started)
	}
	return b, err
}

// load is Load for callers that do not yield the batch; Fresh stays the same.
func (s *Store) load(ctx context.Context) (storage.Batch, error) {
	known := s.knownRev()
	b, st, err := s.loadAll(ctx)
	for errors.Is(err, rpctypes.ErrCompacted) && ctx.Err() == nil { // the load took too long
		b, st, err = s.loadAll(ctx)
	}
	if err == nil {
		err = s.checkHead(st.head, known)
	}
	err = s.failure(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || errors.Is(err, storage.ErrBroken) {
		s.broken = err
	}
	if err == nil && (s.state == nil || st.isNewerThan(s.state)) {
		s.state = st
		s.lastError = nil
	}
	return b, err
}

func (st *state) isNewerThan(other *state) bool {
	return st.head.rev > other.head.rev || st.head.rev == other.head.rev && st.asOf > other.asOf
}

// loadAll loads all keys at one revision, and returns the contents and the new state.
func (s *Store) loadAll(ctx context.Context) (storage.Batch, *state, error) {
	d := newStep()
	d.batch.Rules = []byte{}
	newest := int64(0) // the revision of a key other than the head
	pages := s.newScan()
	err := pages.each(ctx, func(key string, kv *mvccpb.KeyValue) error {
		if key == headKey {
			h, err := decodeHead(kv)
			d.head = &h
			return err
		}
		newest = max(newest, kv.ModRevision)
		return d.read(s.prefix, kv, false)
	})
	if err == nil && d.head == nil {
		err = s.missingError()
	}
	if err != nil {
		return storage.Batch{}, nil, err
	}
	d.sort()
	st := &state{fields: make(map[string]*field), nextRank: 1}
	st.apply(d)
	st.asOf = pages.rev
	if newest > st.head.rev {
		st.handEdit = newest
	}
	b, err := d.contents(s.prefix, st)
	return b, st, err
}

// contents returns the result of Load for a step of all keys that led to st.
func (d *step) contents(prefix string, st *state) (storage.Batch, error) {
	reset := d.head.Reset
	if d.head.Reload {
		reset = d.head.rev
	}
	b := storage.Batch{
		Rev:    storage.Rev(d.head.rev),
		Reset:  true,
		Rules:  d.batch.Rules,
		Origin: d.head.Database,
		Edited: storage.Rev(reset),
	}
	for _, f := range d.fields {
		c := storage.Collection{
			Name: f.name,
			Kind: storage.KindOf(f.name, f.value),
			Rev:  storage.Rev(max(f.rev, reset)),
		}
		if c.Kind != storage.Array {
			c.Value = f.value
			b.Contents = append(b.Contents, c)
			continue
		}
		records := d.records[f.name]
		places := st.fields[f.name].places
		c.Elements = make([]storage.Element, len(records))
		for i, r := range records {
			if places[r.name] != r.at {
				key := prefix + recordKey(f.name, r.at, r.name)
				return b, broken("the key %s has the id of another record: delete one of them with etcdctl del", key)
			}
			c.Elements[i] = storage.Element{Key: r.name, Value: r.value, Compact: rawjson.IsCompact(r.value)}
		}
		b.Contents = append(b.Contents, c)
	}
	return b, nil
}

// A scan reads the keys under the prefix in pages, all at the same revision.
type scan struct {
	*Store
	options []clientv3.OpOption // more of them
	rev     int64               // of the cluster; 0 before the first page
	cluster uint64              // the id of the cluster
	from    string              // the first key of the next page
	limit   int64               // keys in the next page
}

func (s *Store) newScan(o ...clientv3.OpOption) *scan {
	return &scan{Store: s, options: o, from: s.prefix, limit: firstPage}
}

// each calls f for each key. Meanwhile the next page is read.
func (s *scan) each(ctx context.Context, f func(key string, kv *mvccpb.KeyValue) error) error {
	var next *clientv3.GetResponse
	var err error
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read := func() { next, err = s.page(ctx) }
	reading.Go(read)
	for {
		reading.Wait()
		if err != nil {
			return err
		}
		page := next
		if page.More {
			reading.Go(read)
		}
		for _, kv := range page.Kvs {
			if err := f(strings.TrimPrefix(string(kv.Key), s.prefix), kv); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
	}
}

// page reads the next page. If the cluster does not answer, page repeats the call with
// fewer keys.
func (s *scan) page(ctx context.Context) (*clientv3.GetResponse, error) {
	for try := 0; ; try++ {
		call, cancel := context.WithTimeout(ctx, writeTime)
		o := append(slices.Clip(s.options), s.toEnd(), clientv3.WithLimit(s.limit), clientv3.WithRev(s.rev))
		r, err := s.etcd.Do(call, clientv3.OpGet(s.from, o...))
		cancel()
		if err == nil {
			return r.Get(), s.accept(r.Get())
		}
		if !isUnreachable(err) || try == 2 || ctx.Err() != nil {
			return nil, err
		}
		s.limit = max(1, s.limit/pageGrowth)
		time.Sleep(repeatAfter)
	}
}

// accept checks that a page is from the same cluster as the first one, and prepares the
// next page.
func (s *scan) accept(page *clientv3.GetResponse) error {
	if s.rev == 0 {
		s.rev = page.Header.Revision
		s.cluster = page.Header.ClusterId
	}
	if page.Header.ClusterId != s.cluster {
		return errOtherDatabase
	}
	if !page.More {
		return nil
	}
	size := int64(1)
	for _, kv := range page.Kvs {
		size += int64(len(kv.Value))
	}
	s.from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	s.limit = min(largePage, pageGrowth*s.limit, max(1, s.limit*pageBytes/size))
	return nil
}
