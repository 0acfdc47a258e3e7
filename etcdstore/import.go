package etcdstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Import creates a database with contents and rules if none exists; otherwise the error wraps
// fs.ErrExist. It refuses a prefix that has other keys. Until its last transaction, which
// writes the head, there is no database. KeyBy sets the fields with the ids.
func (s *Store) Import(ctx context.Context, contents []storage.Collection, rules []byte) (storage.Rev, error) {
	s.committing.Lock()
	defer s.committing.Unlock()
	i := &importer{ctx: ctx, commit: commit{Store: s}}
	i.head = head{Layout: layout, Database: strings.ToLower(rand.Text()[:10]), Commit: s.name()}
	rev, err := i.run(contents, rules)
	return storage.Rev(rev), s.failure(err)
}

// ownerKey has the name of the import in progress.
const ownerKey = "import"

// An importer writes keys where there is no head.
type importer struct {
	commit
	ctx context.Context
	ifs []clientv3.Cmp // of each transaction
}

func (i *importer) run(contents []storage.Collection, rules []byte) (int64, error) {
	i.ifs = []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(i.prefix+headKey), "=", 0)}
	if _, err := i.write(); err != nil { // there is a database
		return 0, err
	}
	owned, err := i.checkPrefix()
	if err != nil {
		return 0, err
	}
	if err := i.begin(owned); err != nil {
		return 0, err
	}
	var ops []op
	for at, c := range contents {
		rank, value := uint64(at+1), c.Value
		if c.Name == "$schema" {
			rank = 0
		}
		if c.Kind == storage.Array {
			value = collectionValue(i.idMember(c.Name))
		}
		ops = append(ops, put(memberKey(rank, c.Name), value))
		for n, e := range c.Elements {
			ops = append(ops, put(recordKey(c.Name, uint64(n), e.Key), e.Value))
		}
	}
	for len(ops) > 0 {
		n, size := 0, 0
		for ; n < min(len(ops), maxOperations); n++ {
			ops[n].value = rawjson.Compact(ops[n].value)
			if err := i.check(ops[n]); err != nil {
				return 0, err
			}
			if size += ops[n].size() + len(i.prefix); size > maxBytes {
				break
			}
		}
		if _, err := i.write(i.nested(ops[:n])...); err != nil {
			return 0, err
		}
		ops = ops[n:]
	}
	last := []clientv3.Op{clientv3.OpPut(i.prefix+headKey, i.head.encode()), clientv3.OpDelete(i.prefix + ownerKey)}
	if len(rules) > 0 {
		last = append(last, clientv3.OpPut(i.prefix+rulesKey, string(rules)))
	}
	return i.write(last...)
}

// begin deletes what an interrupted import has left, and makes this one the owner of the
// prefix. Another import that begins now becomes the owner, which ends this one. The key
// of the owner was last written at the revision owned.
func (i *importer) begin(owned int64) error {
	owner := i.prefix + ownerKey
	ifs := i.ifs
	// Not twice: a try that is performed late must not delete the keys of this import.
	i.ifs = append(ifs[:1:1], clientv3.Compare(clientv3.ModRevision(owner), "=", owned))
	_, err := i.write(clientv3.OpPut(owner, i.head.Commit),
		clientv3.OpDelete(i.prefix, clientv3.WithRange(owner)), clientv3.OpDelete(owner+"\x00", clientv3.WithRange(clientv3.GetPrefixRangeEnd(i.prefix))))
	i.ifs = append(ifs[:1:1], clientv3.Compare(clientv3.Value(owner), "=", i.head.Commit))
	if errors.Is(err, errRival) {
		return nil // or an earlier try has succeeded: the next write finds out
	}
	return err
}

// errRival is the error of an import after which another one has begun.
var errRival = errors.New("another import")

// checkPrefix returns an error if other programs or databases have keys under the
// prefix, which would be deleted, or if the prefix is within another database, to which
// the new keys would be strange. It returns the revision at which an import became the
// owner of the prefix, 0 if none did.
func (i *importer) checkPrefix() (owned int64, err error) {
	ctx, cancel := context.WithTimeout(i.ctx, 10*writeTime)
	defer cancel()
	for above := path.Dir(path.Clean(i.prefix)); above != "/"; above = path.Dir(above) {
		r, err := i.etcd.Do(ctx, clientv3.OpGet(above+"/"+headKey))
		if err == nil && len(r.Get().Kvs) > 0 { // an error says that the user may not look there
			return 0, fmt.Errorf("%s is within the database at %s: choose another prefix", path.Clean(i.prefix), above)
		}
	}
	at := &scan{Store: i.Store}
	err = at.keys(i.ctx, func(key string, kv *mvccpb.KeyValue) error {
		if key == ownerKey {
			owned = kv.ModRevision
		}
		if key != ownerKey && key != headKey && !newStep(0).add(key, nil, 0) {
			return fmt.Errorf("%s has keys of others, such as %s: choose another prefix", path.Clean(i.prefix), kv.Key)
		}
		return nil
	}, clientv3.WithKeysOnly())
	return owned, err
}

// write performs operations if there is no head. They may be repeated.
func (i *importer) write(then ...clientv3.Op) (int64, error) {
	for again := 0; ; again++ {
		r, err := i.transact(i.ctx, 10*writeTime, i.ifs, then)
		switch {
		case err == nil && r.Succeeded:
			return r.Header.Revision, nil
		case err == nil && len(found(r)) == 0:
			return 0, &plainError{"another import into " + path.Clean(i.prefix) + " has begun; run this one again if it fails", []error{errRival}}
		case err == nil:
			if rev, err := i.confirm(found(r)); err == nil { // the answer to an earlier try was lost
				return rev, nil
			}
			return 0, &plainError{"there is a database at " + path.Clean(i.prefix), []error{fs.ErrExist}}
		case !isAway(err) || again == 3 || i.ctx.Err() != nil:
			return 0, err
		}
		time.Sleep(repeatAfter)
	}
}
