package etcdstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Sweep deletes the parts of values and of batches that do not count: those of a
// commit whose process was killed. It returns the number of values and batches. A
// commit under way whose parts it deletes finds another head, and is run again.
func (s *Store) Sweep(ctx context.Context) (n int, err error) {
	for range 10 { // others may commit meanwhile
		var found map[string]bool
		if found, err = s.laid(ctx); err == nil {
			n, err = s.sweep(ctx, found)
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	return n, s.failure(err)
}

// laid returns the values and batches in parts, by the prefix of their keys.
func (s *Store) laid(ctx context.Context) (map[string]bool, error) {
	all := make(map[string]bool)
	for _, keys := range []string{partKeys, stagedKeys} {
		at := &scan{Store: s}
		err := at.keys(ctx, keys, prefixEnd(keys), largePage, func(key string, _ *mvccpb.KeyValue) error {
			if isPart(key) { // others may be those of another program
				all[key[:strings.LastIndexByte(key, '/')+1]] = true
			}
			return nil
		}, clientv3.WithKeysOnly())
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// sweep deletes those of the values and batches that do not count, and returns their
// number. It writes a head: a commit that has begun to write one of them does not hold.
func (s *Store) sweep(ctx context.Context, found map[string]bool) (int, error) {
	r, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	_, st, err := r.batch()
	if err != nil {
		return 0, err
	}
	var ops []op
	used := st.used()
	for prefix := range found {
		if !used[prefix] && len(ops) < maxOperations {
			ops = append(ops, op{key: prefix, end: prefixEnd(prefix)})
		}
	}
	if len(ops) == 0 {
		return 0, nil
	}
	c := &commit{Store: s, base: st.rev, last: st.head, head: s.next(st.head, st.rev)}
	c.head.Open = st.head.Open
	_, err = c.try(ctx, ops)
	return len(ops), err
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
	for before := map[string]bool{}; ; {
		call, cancel := context.WithTimeout(ctx, writeTime)
		found, err := f.laid(call)
		cancel()
		if err == nil {
			old := f.unused(found, before)
			if before = found; len(old) > 0 {
				if n, err := f.sweep(ctx, old); err == nil && n > 0 {
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
func (s *Store) unused(found, before map[string]bool) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := make(map[string]bool)
	if s.state == nil {
		return old
	}
	used := s.state.used()
	for prefix := range found {
		if before[prefix] && !used[prefix] {
			old[prefix] = true
		}
	}
	return old
}
