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

// Import creates a database with contents and rules if none exists; otherwise the
// error wraps fs.ErrExist. It refuses a prefix that has other keys. Until its last
// transaction, which writes the head, there is no database. KeyBy sets the members with
// the ids.
func (s *Store) Import(ctx context.Context, contents []storage.Collection, rules []byte) (storage.Rev, error) {
	s.committing.Lock()
	defer s.committing.Unlock()
	i := &importer{ctx: ctx, commit: commit{Store: s}}
	i.head = head{Layout: layout, Database: strings.ToLower(rand.Text()[:10]), Commit: s.name()}
	rev, err := i.run(contents, rules)
	return storage.Rev(rev), s.failure(err)
}

// claimKey has the name of the import under way.
const claimKey = "import"

// An importer writes keys where there is no head.
type importer struct {
	commit
	ctx context.Context
	ifs []clientv3.Cmp // of each transaction
}

func (i *importer) run(contents []storage.Collection, rules []byte) (int64, error) {
	if _, err := i.write(); err != nil { // there is a database
		return 0, err
	}
	claimed, err := i.checkPrefix()
	if err != nil {
		return 0, err
	}
	if err := i.begin(claimed); err != nil {
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
	last := []clientv3.Op{clientv3.OpPut(i.prefix+headKey, i.head.encode()), clientv3.OpDelete(i.prefix + claimKey)}
	if len(rules) > 0 {
		last = append(last, clientv3.OpPut(i.prefix+rulesKey, string(rules)))
	}
	return i.write(last...)
}

// begin deletes what an import that was interrupted has left, and claims the prefix,
// whose claim was last written at the revision claimed. Another import that begins now
// writes another claim, which ends this one.
func (i *importer) begin(claimed int64) error {
	claim := i.prefix + claimKey
	// Not twice: a try that is performed late must not delete the keys of this import.
	i.ifs = []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(claim), "=", claimed)}
	_, err := i.write(clientv3.OpPut(claim, i.head.Commit),
		clientv3.OpDelete(i.prefix, clientv3.WithRange(claim)), clientv3.OpDelete(claim+"\x00", clientv3.WithRange(prefixEnd(i.prefix))))
	i.ifs = []clientv3.Cmp{clientv3.Compare(clientv3.Value(claim), "=", i.head.Commit)}
	if _, rival := errors.AsType[rivalError](err); rival {
		return nil // or an earlier try has succeeded: the next write finds out
	}
	return err
}

// A rivalError is about a prefix that another import has claimed.
type rivalError string

func (e rivalError) Error() string {
	return fmt.Sprintf("another import into %s has begun; run this one again if it fails", string(e))
}

// A presentError is about a prefix with a database.
type presentError string

func (e presentError) Error() string { return "there is a database at " + string(e) }
func (presentError) Unwrap() error   { return fs.ErrExist }

// checkPrefix returns an error if other programs or databases have keys under the
// prefix, which would be deleted, or if the prefix is within another database, to which
// the new keys would be strange. It returns the revision at which an import has claimed
// the prefix, 0 if none has.
func (i *importer) checkPrefix() (claimed int64, err error) {
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
		if key == claimKey {
			claimed = kv.ModRevision
		}
		if key != claimKey && key != headKey && !newStep(0).add(key, nil, 0) {
			return fmt.Errorf("%s has keys of others, such as %s: choose another prefix", path.Clean(i.prefix), kv.Key)
		}
		return nil
	}, clientv3.WithKeysOnly())
	return claimed, err
}

// flush writes the operations that are waiting.
func (i *importer) flush() error {
	for _, o := range i.ops {
		if err := i.check(o); err != nil {
			return err
		}
	}
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
		r, err := i.transact(i.ctx, 10*writeTime, append(i.ifs, i.headless()), then)
		switch {
		case err == nil && r.Succeeded:
			return r.Header.Revision, nil
		case err == nil && len(found(r)) == 0:
			return 0, rivalError(path.Clean(i.prefix))
		case err == nil:
			if rev, err := i.confirm(found(r)); err == nil { // the answer to an earlier try was lost
				return rev, nil
			}
			return 0, presentError(path.Clean(i.prefix))
		case !isAway(err) || again == 3 || i.ctx.Err() != nil:
			return 0, err
		}
		time.Sleep(repeatAfter)
	}
}
