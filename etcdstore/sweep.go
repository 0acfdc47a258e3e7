package etcdstore

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Sweep deletes the parts of values and of batches that do not count: those of a
// commit whose process was killed. It returns the number of values and batches. A
// commit under way whose parts it deletes notices that, and is run again.
func (s *Store) Sweep(ctx context.Context) (n int, err error) {
	c, err := s.read(ctx)
	if err != nil {
		return 0, s.failure(err)
	}
	used := make(map[string]bool)
	for _, m := range c.members {
		used[partsOf(partKeys, m.parts)] = true
	}
	for _, records := range c.records {
		for _, r := range records {
			used[partsOf(partKeys, r.parts)] = true
		}
	}
	if c.head.Open != nil {
		used[partsOf(stagedKeys, c.head.Open.Name)] = true
	}
	for _, keys := range []string{partKeys, stagedKeys} {
		r, err := s.get(ctx, keys, clientv3.WithRange(prefixEnd(s.prefix+keys)), clientv3.WithKeysOnly(), clientv3.WithRev(c.asOf))
		if err != nil {
			return n, s.failure(err)
		}
		for _, kv := range r.Kvs {
			key := strings.TrimPrefix(string(kv.Key), s.prefix)
			parts, first := strings.CutSuffix(key, padded(0, partDigits))
			if !first || used[parts] {
				continue
			}
			// All parts at once, if nothing has made them count meanwhile; see I9.
			ifs := []clientv3.Cmp{s.unmoved(c.rev), s.created(key, kv.CreateRevision)}
			r, err := s.transact(ctx, writeTime, ifs, s.plain([]op{{key: parts, end: prefixEnd(parts)}}), headKey)
			if err != nil {
				return n, s.failure(err)
			}
			if r.Succeeded {
				n++
			}
		}
	}
	return n, nil
}
