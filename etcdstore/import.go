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

// Import creates a database with contents and rules. If a database exists, the error wraps
// fs.ErrExist. Import also refuses a prefix with keys of other programs. KeyBy sets the id
// fields. The last transaction writes the head; before, there is no database.
func (s *Store) Import(ctx context.Context, contents []storage.Collection, rules []byte) (storage.Rev, error) {
	s.committing.Lock()
	defer s.committing.Unlock()
	i := &importer{ctx: ctx, commit: commit{Store: s}}
	i.head = head{Layout: layout, Database: strings.ToLower(rand.Text()[:10]), Commit: s.commitName()}
	rev, err := i.run(contents, rules)
	return storage.Rev(rev), s.failure(err)
}

// ownerKey has the name of the import in progress.
const ownerKey = "import"

// An importer creates a database.
type importer struct {
	commit
	ctx        context.Context
	conditions []clientv3.Cmp // of each transaction
}

func (i *importer) run(contents []storage.Collection, rules []byte) (int64, error) {
	i.conditions = []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(i.prefix+headKey), "=", 0)}
	if _, err := i.write(); err != nil { // there is a database
		return 0, err
	}
	owned, err := i.checkPrefix()
	if err != nil {
		return 0, err
	}
	if err := i.takePrefix(owned); err != nil {
		return 0, err
	}
	if err := i.writeAll(i.contentOps(contents)); err != nil {
		return 0, err
	}
	last := []clientv3.Op{i.putHead(i.head.encode()), clientv3.OpDelete(i.prefix + ownerKey)}
	if len(rules) > 0 {
		last = append(last, clientv3.OpPut(i.prefix+rulesKey, string(rules)))
	}
	return i.write(last...)
}

// contentOps returns the operations that write contents.
func (i *importer) contentOps(contents []storage.Collection) (ops []op) {
	for at, c := range contents {
		rank := uint64(at + 1)
		if c.Name == "$schema" {
			rank = 0
		}
		value := c.Value
		if c.Kind == storage.Array {
			value = collectionValue(i.idField(c.Name))
		}
		ops = append(ops, put(fieldKey(rank, c.Name), value))
		for place, e := range c.Elements {
			ops = append(ops, put(recordKey(c.Name, uint64(place), e.Key), e.Value))
		}
	}
	return ops
}

// writeAll performs operations, in as many transactions as necessary.
func (i *importer) writeAll(ops []op) error {
	for len(ops) > 0 {
		n := 0
		size := 0
		for ; n < min(len(ops), maxOperations); n++ {
			ops[n].value = rawjson.Compact(ops[n].value)
			if err := i.checkOp(ops[n]); err != nil {
				return err
			}
			size += ops[n].size() + len(i.prefix)
			if size > maxBytes {
				break
			}
		}
		if _, err := i.write(i.nested(ops[:n])...); err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

// takePrefix makes this import the owner of the prefix, and deletes what an interrupted
// import has left. The owner's key was last written at the revision owned. If another
// import takes the prefix later, this one ends.
func (i *importer) takePrefix(owned int64) error {
	owner := i.prefix + ownerKey
	noHead := i.conditions[:1:1]
	// The revision makes the deletion happen once: a late duplicate must not delete new keys.
	i.conditions = append(noHead, clientv3.Compare(clientv3.ModRevision(owner), "=", owned))
	_, err := i.write(
		clientv3.OpPut(owner, i.head.Commit),
		clientv3.OpDelete(i.prefix, clientv3.WithRange(owner)),
		clientv3.OpDelete(owner+"\x00", i.toEnd()),
	)
	i.conditions = append(noHead, clientv3.Compare(clientv3.Value(owner), "=", i.head.Commit))
	if errors.Is(err, errRival) {
		return nil // perhaps an earlier try has succeeded: the next write finds out
	}
	return err
}

// errRival is the error of an import after which another import has started.
var errRival = errors.New("another import")

// checkPrefix returns an error if the import would delete keys of other programs or
// databases, or if the prefix is inside another database, which would break. It returns
// the revision at which the last import took the prefix, or 0.
func (i *importer) checkPrefix() (owned int64, err error) {
	ctx, cancel := context.WithTimeout(i.ctx, 10*writeTime)
	defer cancel()
	for above := path.Dir(path.Clean(i.prefix)); above != "/"; above = path.Dir(above) {
		r, err := i.etcd.Do(ctx, clientv3.OpGet(above+"/"+headKey))
		if err == nil && len(r.Get().Kvs) > 0 { // after an error the user may not read there
			return 0, fmt.Errorf("%s is within the database at %s: choose another prefix", path.Clean(i.prefix), above)
		}
	}
	err = i.newScan(clientv3.WithKeysOnly()).each(i.ctx, func(key string, kv *mvccpb.KeyValue) error {
		if key == ownerKey {
			owned = kv.ModRevision
			return nil
		}
		if key != headKey && !newStep().add(key, nil, 0) {
			return fmt.Errorf("%s has keys of other programs, such as %s: choose another prefix",
				path.Clean(i.prefix), kv.Key)
		}
		return nil
	})
	return owned, err
}

// write performs operations if there is no head. They may be performed more than once.
func (i *importer) write(then ...clientv3.Op) (int64, error) {
	for try := 0; ; try++ {
		r, err := i.transact(i.ctx, 10*writeTime, i.conditions, then)
		if err == nil {
			return i.result(r)
		}
		if !isUnreachable(err) || try == 3 || i.ctx.Err() != nil {
			return 0, err
		}
		time.Sleep(repeatAfter)
	}
}

// result returns the result of write for the response to a transaction.
func (i *importer) result(r *clientv3.TxnResponse) (int64, error) {
	if r.Succeeded {
		return r.Header.Revision, nil
	}
	name := path.Clean(i.prefix)
	kvs := elseRead(r)
	if len(kvs) == 0 {
		text := "another import into " + name + " has started; run this one again if that fails"
		return 0, &textError{text, []error{errRival}}
	}
	if rev, err := i.confirm(kvs); err == nil { // the response to an earlier try was lost
		return rev, nil
	}
	return 0, &textError{"there is a database at " + name, []error{fs.ErrExist}}
}
