package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// Commit makes the changes of all updates durable in one step, which has one
// revision. Errors wrap:
//
//   - storage.ErrConflict: another replica was faster
//   - storage.ErrAway: the cluster does not answer; nothing changed
//   - storage.ErrUnsure: it did not answer either when asked for the outcome
//   - storage.ErrFull, storage.ErrReadOnly: etcd has refused it
//   - storage.ErrTooLarge: it does not fit one transaction; nothing changed
//   - storage.ErrBroken: the value of a key is not JSON
func (s *Store) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	return s.commit(ctx, int64(base), slices.Concat(updates...), nil, nil)
}

// CommitRules implements storage.SharedStore.
func (s *Store) CommitRules(ctx context.Context, base storage.Rev, rules []byte, idMember func(string) string, changes []storage.Change) (storage.Rev, error) {
	return s.commit(ctx, int64(base), changes, append([]byte{}, rules...), idMember)
}

// commit makes changes durable. Unless rules is nil, they change too, and idMember with them.
func (s *Store) commit(ctx context.Context, base int64, changes []storage.Change, rules []byte, idMember func(string) string) (storage.Rev, error) {
	if s.readOnly {
		return 0, fmt.Errorf("%w: this server does not write to the cluster", storage.ErrReadOnly)
	}
	s.committing.Lock()
	defer s.committing.Unlock()
	if err := s.prepare(ctx, base); err != nil {
		return 0, err
	}
	c, err := s.newCommit(base, changes, rules, idMember)
	if err != nil {
		return 0, s.outcome(err)
	}
	rev, err := c.try(ctx)
	if err != nil {
		return storage.Rev(rev), s.outcome(err)
	}
	d := newStep(rev)
	d.head = &c.head
	for _, o := range c.ops {
		if o.end == "" {
			d.add(o.key, o.value, rev)
		}
	}
	d.sort()
	s.setRefused(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(d)
	if rules != nil {
		s.idMember = idMember
	}
	return storage.Rev(rev), nil
}

// newCommit returns the commit of changes, which has not begun.
func (s *Store) newCommit(base int64, changes []storage.Change, rules []byte, idMember func(string) string) (*commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.rev != base {
		return nil, errConflict
	}
	if idMember == nil {
		idMember = s.idMember
	}
	p, err := newPlan(s.state, idMember, changes)
	if err != nil {
		return nil, err
	}
	c := &commit{Store: s, base: base, last: s.state.head, head: s.next(s.state.head, base)}
	c.ops, c.head.Whole = p.ops()
	switch {
	case len(rules) > 0:
		c.ops = append(c.ops, put(rulesKey, rules))
	case rules != nil && s.state.rules:
		c.ops = append(c.ops, del(rulesKey))
	}
	return c, c.checkSize()
}

// outcome returns the error of Commit for one of its parts.
func (s *Store) outcome(err error) error {
	switch {
	case errors.Is(err, errConflict):
		s.stats.conflicts.Add(1)
		return fmt.Errorf("%s: %w", strings.TrimSuffix(s.prefix, "/"), storage.ErrConflict)
	case errors.Is(err, storage.ErrUnsure):
		s.stats.unsure.Add(1)
		return err
	}
	return s.failure(err)
}

// prepare returns an error if the contents are broken, or if the cluster did not answer
// the last time and does not answer now: the outcome of a transaction would be unknown. It
// loads the contents if what is known of them is older than base.
func (s *Store) prepare(ctx context.Context, base int64) error {
	s.mu.Lock()
	known, away, err := s.state != nil && s.state.rev >= base, s.away, cmp.Or(s.gone, s.broken)
	s.mu.Unlock()
	if err == nil && away != nil {
		call, cancel := context.WithTimeout(ctx, readTime)
		defer cancel()
		_, _, _, err = s.latest(call)
		err = s.failure(err)
	}
	if err == nil && !known {
		_, err = s.load(ctx)
	}
	return err
}

// A commit is one step of the database from the head called last, written at base.
type commit struct {
	*Store
	base int64
	last head
	head head // the new one
	ops  []op
}

// errConflict is the error of a transaction whose base is not the latest head.
var errConflict = errors.New("another server was faster")

// checkSize returns an error if etcd does not take the commit at once.
func (c *commit) checkSize() error {
	size := 0
	for _, o := range c.ops {
		if err := c.check(o); err != nil {
			return err
		}
		size += o.size() + len(c.prefix)
	}
	switch {
	case len(c.ops) > maxOperations:
		return tooLarge("the change has %s keys; etcd takes %s at once: send it in parts", thousands(len(c.ops)), thousands(maxOperations))
	case size > maxBytes:
		return tooLarge("the change has %s KiB; etcd takes %s at once: send it in parts", thousands(size>>10), thousands(maxBytes>>10))
	}
	return nil
}

// check returns an error if etcd does not take the operation even alone.
func (s *Store) check(o op) error {
	switch {
	case len(o.key) > maxKey-len(s.prefix):
		return tooLarge("a name or an id has more than %s bytes", thousands(maxKey-len(s.prefix)-64))
	case len(o.value) > maxValue:
		return tooLarge("the value of %s has %s bytes; etcd takes %s", o.key, thousands(len(o.value)), thousands(maxValue))
	}
	return nil
}

func tooLarge(format string, args ...any) error {
	return &storage.AdviceError{Err: storage.ErrTooLarge, Advice: fmt.Sprintf(format, args...)}
}

// thousands returns a number with commas, as in 4,032.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// size is about what an operation adds to a request.
func (o op) size() int { return len(o.key) + len(o.end) + len(o.value) + 32 }

// try writes the head, and the operations with it, if the head is still the one of the
// base. The error is errConflict if it is not, with the revision of the head that was
// found or 0, and wraps storage.ErrUnsure if that cannot be found out.
func (c *commit) try(ctx context.Context) (int64, error) {
	c.head.Keys = counted(c.ops)
	then := append([]clientv3.Op{clientv3.OpPut(c.prefix+headKey, c.head.encode())}, c.nested(c.ops)...)
	r, err := c.transact(ctx, writeTime, c.isLatest(c.base, c.last), then)
	switch {
	case err == nil && r.Succeeded:
		return r.Header.Revision, nil
	case err == nil:
		return c.confirm(found(r))
	case errors.Is(err, rpctypes.ErrNoSpace):
		return c.look(ctx, err)
	case isRefused(err), isUnsent(err):
		return 0, err
	}
	return c.resolve(ctx, err)
}

// confirm returns the revision of the commit if it wrote the head that was found.
func (c *commit) confirm(kvs []*mvccpb.KeyValue) (int64, error) {
	rev, h, err := c.headOf(kvs)
	if err != nil || h.Prev == c.base && h.Commit == c.head.Commit { // it was sent twice
		return rev, err
	}
	if rev <= c.base { // after a restore from a backup
		rev = 0
	}
	return rev, errConflict
}

// transact performs a transaction that reads the head if its conditions do not hold. It is
// sent again as long as no node has received it.
func (s *Store) transact(ctx context.Context, limit time.Duration, ifs []clientv3.Cmp, then []clientv3.Op) (*clientv3.TxnResponse, error) {
	op := clientv3.OpTxn(ifs, then, []clientv3.Op{clientv3.OpGet(s.prefix + headKey)})
	for again := 0; ; again++ {
		call, cancel := context.WithTimeout(ctx, limit)
		r, err := s.etcd.Do(call, op)
		cancel()
		if err == nil || !isUnsent(err) || again == 4 || ctx.Err() != nil {
			return r.Txn(), err
		}
		time.Sleep(time.Duration(again) * repeatAfter)
	}
}

// found returns what a transaction read because its conditions did not hold.
func found(r *clientv3.TxnResponse) []*mvccpb.KeyValue {
	return r.Responses[0].GetResponseRange().Kvs
}

// isLatest returns the conditions that the head is h, written at rev. After a restore
// another head may have that revision.
func (s *Store) isLatest(rev int64, h head) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(s.prefix+headKey), "=", rev),
		clientv3.Compare(clientv3.Value(s.prefix+headKey), "=", h.text),
	}
}

// nested returns operations as etcd takes them: no more than 63 next to the head, and
// in each of these no more than 64, so that both levels together have at most 128.
func (s *Store) nested(ops []op) []clientv3.Op {
	const wide = 63
	if len(ops) <= wide {
		return s.plain(ops)
	}
	var all []clientv3.Op
	for group := range slices.Chunk(ops, (len(ops)+wide-1)/wide) {
		all = append(all, clientv3.OpTxn(nil, s.plain(group), nil))
	}
	return all
}

func (s *Store) plain(ops []op) []clientv3.Op {
	all := make([]clientv3.Op, len(ops))
	for i, o := range ops {
		switch {
		case o.value != nil:
			all[i] = clientv3.OpPut(s.prefix+o.key, string(o.value))
		case o.end != "":
			all[i] = clientv3.OpDelete(s.prefix+o.key, clientv3.WithRange(s.prefix+o.end))
		default:
			all[i] = clientv3.OpDelete(s.prefix + o.key)
		}
	}
	return all
}
