package etcdstore

import (
	"context"
	"maps"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Sweep deletes the parts of values and of batches that do not count: those of a
// commit whose process was killed. It returns the number of values and batches. A
// commit under way whose parts it deletes notices that, and is run again.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	found, err := s.laid(ctx)
	if err != nil {
		return 0, s.failure(err)
	}
	n, err := s.sweep(ctx, found)
	return n, s.failure(err)
}

// laid returns the values and batches in parts, by the prefix of their keys, with the
// revision at which the first part was created, 0 if it does not exist.
func (s *Store) laid(ctx context.Context) (map[string]int64, error) {
	all := make(map[string]int64)
	for _, keys := range []string{partKeys, stagedKeys} {
		r, err := s.get(ctx, keys, clientv3.WithRange(prefixEnd(s.prefix+keys)), clientv3.WithKeysOnly())
		if err != nil {
			return nil, err
		}
		for _, kv := range r.Kvs {
			name, part, ok := strings.Cut(strings.TrimPrefix(string(kv.Key), s.prefix+keys), "/")
			prefix := partsOf(keys, name)
			if _, known := all[prefix]; !ok || known {
				continue
			}
			all[prefix] = 0
			if part == padded(0, partDigits) {
				all[prefix] = kv.CreateRevision
			}
		}
	}
	return all, nil
}

// sweep deletes those of the values and batches that do not count, and returns their
// number.
func (s *Store) sweep(ctx context.Context, found map[string]int64) (n int, err error) {
	c, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	_, st, err := c.batch()
	if err != nil {
		return 0, err
	}
	used := st.used()
	for prefix, created := range found {
		if used[prefix] {
			continue
		}
		// All parts at once, if nothing has made them count meanwhile; see I9.
		ifs := append(s.unmoved(st.rev, st.head), s.created(prefix+padded(0, partDigits), created))
		r, err := s.transact(ctx, writeTime, ifs, s.plain([]op{{key: prefix, end: prefixEnd(prefix)}}), headKey)
		if err != nil {
			return n, err
		}
		if r.Succeeded {
			n++
		}
	}
	return n, nil
}

// used returns the values and batches in parts that count, by the prefix of their keys.
func (st *state) used() map[string]bool {
	used := make(map[string]bool)
	for _, m := range st.members {
		used[partsOf(partKeys, m.parts)] = true
		for _, at := range m.places {
			used[partsOf(partKeys, at.parts)] = true
		}
	}
	if st.head.Open != nil {
		used[partsOf(stagedKeys, st.head.Open.Name)] = true
	}
	return used
}

// tidy sweeps now and then, until ctx is done. What was there at the last look already
// belongs to no commit under way, or to one that is run again.
func (f *follower) tidy(ctx context.Context) {
	tick := time.NewTicker(f.tidyEach)
	defer tick.Stop()
	for before := map[string]int64{}; ; {
		call, cancel := context.WithTimeout(ctx, writeTime)
		found, err := f.laid(call)
		cancel()
		if err == nil {
			old := f.unused(found, before)
			if before = found; len(old) > 0 {
				if n, _ := f.sweep(ctx, old); n > 0 {
					f.log.Info("deleted what writes have left whose servers were killed", "parts", n)
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// unused returns those of the values and batches found that were found before too, and
// do not count as far as is known here.
func (s *Store) unused(found, before map[string]int64) map[string]int64 {
	old := maps.Clone(found)
	maps.DeleteFunc(old, func(prefix string, created int64) bool {
		was, ok := before[prefix]
		return !ok || was != created
	})
	if len(old) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return nil
	}
	used := s.state.used()
	maps.DeleteFunc(old, func(prefix string, _ int64) bool { return used[prefix] })
	return old
}
