package etcdstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Import creates a database with contents and rules if none exists; otherwise the
// error wraps fs.ErrExist. Until its last transaction, which writes the head, there is
// no database. KeyBy sets the members with the ids.
func (s *Store) Import(ctx context.Context, contents []storage.Collection, rules []byte) (storage.Rev, error) {
	s.committing.Lock()
	defer s.committing.Unlock()
	i := &importer{ctx: ctx, commit: commit{Store: s}}
	i.head = head{Layout: layout, Database: strings.ToLower(rand.Text()[:10]), Commit: s.name()}
	rev, err := i.run(contents, rules)
	return storage.Rev(rev), s.failure(err)
}

// An importer writes keys where there is no head.
type importer struct {
	commit
	ctx context.Context
}

func (i *importer) run(contents []storage.Collection, rules []byte) (int64, error) {
	if err := i.unoccupied(); err != nil {
		return 0, err
	}
	// Delete what an import that was interrupted has left.
	if _, err := i.write(clientv3.OpDelete(i.prefix, clientv3.WithPrefix())); err != nil {
		return 0, err
	}
	for at, c := range contents {
		rank, value := uint64(at+1), c.Value
		if c.Name == "$schema" {
			rank = 0
		}
		if c.Kind == storage.Array {
			value = collectionValue(i.idMember(c.Name))
		}
		i.ops = append(i.ops, put(memberKey(rank, c.Name), rawjson.Compact(value)))
		for n, e := range c.Elements {
			i.ops = append(i.ops, put(recordKey(c.Name, uint64(n), e.Key), rawjson.Compact(e.Value)))
			if len(i.ops) >= maxOperations {
				if err := i.flush(); err != nil {
					return 0, err
				}
			}
		}
	}
	if err := i.flush(); err != nil {
		return 0, err
	}
	last := []clientv3.Op{clientv3.OpPut(i.prefix+headKey, string(i.head.encode()))}
	if len(rules) > 0 {
		last = append(last, clientv3.OpPut(i.prefix+rulesKey, string(rules)))
	}
	return i.write(last...)
}

// unoccupied returns an error if the prefix has keys of others, or is in that of
// another database.
func (i *importer) unoccupied() error {
	keys := []clientv3.Op{
		clientv3.OpGet(i.prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()),
		clientv3.OpGet(i.prefix+headKey, clientv3.WithCountOnly()),
		clientv3.OpGet(i.prefix+rulesKey, clientv3.WithCountOnly()),
	}
	for _, own := range []string{memberKeys, recordKeys, partKeys, stagedKeys} {
		keys = append(keys, clientv3.OpGet(i.prefix+own, clientv3.WithPrefix(), clientv3.WithCountOnly()))
	}
	r, err := i.transact(i.ctx, writeTime, nil, keys, headKey)
	if err != nil {
		return err
	}
	others := r.Responses[0].GetResponseRange().Count
	for _, own := range r.Responses[1:] {
		others -= own.GetResponseRange().Count
	}
	if others > 0 {
		return fmt.Errorf("other programs have keys under %s: choose another prefix: %w", i.prefix, storage.ErrShape)
	}
	for at := range strings.TrimSuffix(i.prefix, "/") {
		if at == 0 || i.prefix[at] != '/' {
			continue
		}
		call, cancel := context.WithTimeout(i.ctx, readTime)
		r, err := i.etcd.Do(call, clientv3.OpGet(i.prefix[:at+1]+headKey))
		cancel()
		if err != nil { // as a rule the user may not read it
			continue
		}
		for _, kv := range r.Get().Kvs {
			if _, err := decodeHead(kv.Value); err == nil {
				return fmt.Errorf("%s is under the prefix of another database, %s: choose another one: %w", i.prefix, i.prefix[:at], storage.ErrShape)
			}
		}
	}
	return nil
}

// flush writes the operations that are waiting.
func (i *importer) flush() error {
	i.head.Commit = i.name() // of which the parts have their names
	if err := i.divide(i.ctx); err != nil {
		return err
	}
	i.ifs = nil // no sweep runs without a head
	for len(i.ops) > 0 {
		n := fit(i.ops, len(i.prefix))
		if _, err := i.write(i.nested(i.ops[:n])...); err != nil {
			return err
		}
		i.ops = i.ops[n:]
	}
	return nil
}

// write performs operations if there is no head. They may be repeated.
func (i *importer) write(then ...clientv3.Op) (int64, error) {
	for again := 0; ; again++ {
		r, err := i.transact(i.ctx, 10*writeTime, []clientv3.Cmp{i.unmoved(0)}, then, headKey)
		switch {
		case err == nil && r.Succeeded:
			return r.Header.Revision, nil
		case err == nil:
			if rev, err := i.won(found(r)); err == nil { // the answer to an earlier try was lost
				return rev, nil
			}
			return 0, fmt.Errorf("there is a database at %s: %w", strings.TrimSuffix(i.prefix, "/"), fs.ErrExist)
		case !isAway(err) || again == 3 || i.ctx.Err() != nil:
			return 0, err
		}
		time.Sleep(repeatAfter)
	}
}
