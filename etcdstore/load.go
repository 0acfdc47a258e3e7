package etcdstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Limits of a page of a load: of its keys, of their growth from page to page, and of its
// bytes, roughly. Few pages are fast, because for each one etcd counts all keys that follow.
const (
	firstPage  = 64
	largePage  = 50_000
	pageGrowth = 64
	pageBytes  = 8 << 20
)

// Load returns the contents at the latest revision. Errors wrap storage.ErrAway,
// storage.ErrBroken, or fs.ErrNotExist if there is no database.
func (s *Store) Load(ctx context.Context) (storage.Batch, error) {
	began := time.Now()
	b, err := s.load(ctx)
	if err == nil {
		s.freshen(began)
	}
	return b, err
}

// load is Load for a caller that may not yield what it returns.
func (s *Store) load(ctx context.Context) (storage.Batch, error) {
	known := s.known()
	b, st, err := s.read(ctx)
	for errors.Is(err, rpctypes.ErrCompacted) && ctx.Err() == nil { // reading took too long
		b, st, err = s.read(ctx)
	}
	if err == nil {
		err = s.checkHead(st.head, st.rev, known)
	}
	err = s.failure(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || errors.Is(err, storage.ErrBroken) {
		s.broken = err
	}
	if err == nil && (s.state == nil || s.state.rev < st.rev || s.state.rev == st.rev && s.state.asOf < st.asOf) {
		s.state, s.away = st, nil
	}
	return b, err
}

// read reads all keys at one revision, and returns them as Load does, with what a commit
// must know of them.
func (s *Store) read(ctx context.Context) (storage.Batch, *state, error) {
	d := newStep(0)
	d.batch.Rules = []byte{}
	newest := int64(0) // revision of a key other than the head
	at := &scan{Store: s}
	err := at.keys(ctx, func(key string, kv *mvccpb.KeyValue) error {
		if key == headKey {
			h, err := decodeHead(kv.Value)
			d.head, d.rev = &h, kv.ModRevision
			return err
		}
		newest = max(newest, kv.ModRevision)
		return d.read(s.prefix, kv, false)
	})
	if err == nil && d.head == nil {
		err = s.absent()
	}
	if err != nil {
		return storage.Batch{}, nil, err
	}
	d.sort()
	st := &state{members: make(map[string]*member), rank: 1}
	st.apply(d)
	if st.asOf = at.rev; newest > st.rev {
		st.edited = newest
	}
	b, err := d.contents(s.prefix, st)
	return b, st, err
}

// contents returns a step of all keys, which has led to st, as Load does.
func (d *step) contents(prefix string, st *state) (storage.Batch, error) {
	reloaded := d.head.Reset
	if d.head.Reload {
		reloaded = d.rev
	}
	b := storage.Batch{Rev: storage.Rev(d.rev), Reset: true, Rules: d.batch.Rules, Origin: d.head.Database, Edited: storage.Rev(reloaded)}
	for _, m := range d.members {
		c := storage.Collection{Name: m.name, Kind: storage.KindOf(m.name, m.value), Rev: storage.Rev(max(m.rev, reloaded))}
		if c.Kind == storage.Array {
			records, places := d.records[m.name], st.members[m.name].places
			c.Elements = make([]storage.Element, len(records))
			for i, r := range records {
				if len(places) < len(records) && places[r.name] != r.at {
					return b, broken("the key %s has the id of another record: delete one of them with etcdctl del", prefix+recordKey(m.name, r.at, r.name))
				}
				c.Elements[i] = storage.Element{Key: r.name, Value: r.value, Compact: rawjson.IsCompact(r.value)}
			}
		} else {
			c.Value = m.value
		}
		b.Contents = append(b.Contents, c)
	}
	return b, nil
}

// A scan reads keys in pages, all at one revision.
type scan struct {
	*Store
	rev     int64  // of the cluster; 0: the latest
	cluster uint64 // the id of the cluster, 0: not known yet
}

// keys calls each for the keys under the prefix, while it reads the next page.
func (s *scan) keys(ctx context.Context, each func(key string, kv *mvccpb.KeyValue) error, o ...clientv3.OpOption) error {
	var next *clientv3.GetResponse
	var err error
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, limit := s.prefix, int64(firstPage)
	read := func() { next, err = s.page(ctx, from, o, &limit) }
	reading.Go(read)
	for more := true; more; {
		reading.Wait()
		if err != nil {
			return err
		}
		page := next
		if s.rev == 0 {
			s.rev, s.cluster = page.Header.Revision, page.Header.ClusterId
		}
		if page.Header.ClusterId != s.cluster {
			return errOther
		}
		if more = page.More; more {
			size := int64(1)
			for _, kv := range page.Kvs {
				size += int64(len(kv.Value))
			}
			from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
			limit = min(largePage, pageGrowth*limit, max(1, limit*pageBytes/size))
			reading.Go(read)
		}
		for _, kv := range page.Kvs {
			if err := each(strings.TrimPrefix(string(kv.Key), s.prefix), kv); err != nil {
				return err
			}
		}
	}
	return nil
}

// page reads up to limit keys, beginning at from. If that times out, it lowers the limit
// and tries again.
func (s *scan) page(ctx context.Context, from string, o []clientv3.OpOption, limit *int64) (*clientv3.GetResponse, error) {
	for try := 0; ; try++ {
		call, cancel := context.WithTimeout(ctx, writeTime)
		r, err := s.etcd.Do(call, clientv3.OpGet(from, append(o, clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.prefix)), clientv3.WithLimit(*limit), clientv3.WithRev(s.rev))...))
		cancel()
		if !isAway(err) || try == 2 || ctx.Err() != nil {
			return r.Get(), err
		}
		*limit = max(1, *limit/pageGrowth)
		time.Sleep(repeatAfter)
	}
}
