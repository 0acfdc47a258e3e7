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

// Commit makes the changes of all updates durable in one step, with one revision.
// Errors wrap:
//
//   - storage.ErrConflict: another replica committed first
//   - storage.ErrAway: the cluster does not answer; nothing changed
//   - storage.ErrUnsure: the cluster stopped answering, and the outcome is unknown
//   - storage.ErrFull, storage.ErrReadOnly: etcd refused the commit
//   - storage.ErrTooLarge: the changes do not fit in one transaction; nothing changed
//   - storage.ErrBroken: the value of a key is not JSON
func (s *Store) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	return s.commit(ctx, int64(base), update{changes: slices.Concat(updates...)})
}

// CommitRules implements storage.SharedStore.
func (s *Store) CommitRules(
	ctx context.Context, base storage.Rev, rules []byte, idField func(string) string, changes []storage.Change,
) (storage.Rev, error) {
	return s.commit(ctx, int64(base), update{changes, rules, idField})
}

// An update is the content of a commit.
type update struct {
	changes []storage.Change
	rules   []byte                         // empty: none
	idField func(collection string) string // nil: the rules do not change
}

// commit makes an update of the state at base durable.
func (s *Store) commit(ctx context.Context, base int64, u update) (storage.Rev, error) {
	if s.readOnly {
		return 0, fmt.Errorf("%w: this server does not write to the cluster", storage.ErrReadOnly)
	}
	s.committing.Lock()
	defer s.committing.Unlock()
	if err := s.prepareCommit(ctx, base); err != nil {
		return 0, err
	}
	c, err := s.newCommit(base, u)
	if err != nil {
		return 0, s.commitError(err)
	}
	rev, err := c.try(ctx)
	if err != nil {
		return storage.Rev(rev), s.commitError(err)
	}
	c.done(rev, u.idField)
	return storage.Rev(rev), nil
}

// prepareCommit returns an error if the contents are broken. After a failed read of the
// head it also checks that the cluster answers again, because otherwise the outcome of a
// transaction would be unknown. It loads the contents if the known state is older than base.
func (s *Store) prepareCommit(ctx context.Context, base int64) error {
	s.mu.Lock()
	isKnown := s.state != nil && s.state.head.rev >= base
	lastError := s.lastError
	err := cmp.Or(s.fatal, s.broken)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if lastError != nil {
		if _, _, err := s.readHead(ctx, readTime); err != nil {
			return s.failure(err)
		}
	}
	if isKnown {
		return nil
	}
	_, err = s.load(ctx)
	return err
}

// newCommit returns the commit of an update, if base is the known state.
func (s *Store) newCommit(base int64, u update) (*commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.state.head
	if last.rev != base {
		return nil, errConflict
	}
	idField := u.idField
	if idField == nil {
		idField = s.idField
	}
	p, err := newPlan(s.state, idField, u.changes)
	if err != nil {
		return nil, err
	}
	c := &commit{Store: s, base: last, head: s.nextHead(last)}
	c.ops, c.head.Whole = p.ops()
	if len(u.rules) > 0 {
		c.ops = append(c.ops, put(rulesKey, u.rules))
	} else if u.idField != nil && s.state.hasRules {
		c.ops = append(c.ops, del(rulesKey))
	}
	return c, c.checkSize()
}

// commitError counts the error of a commit, and returns the error for the caller.
func (s *Store) commitError(err error) error {
	if errors.Is(err, errConflict) {
		s.stats.conflicts.Add(1)
		return fmt.Errorf("%s: %w", strings.TrimSuffix(s.prefix, "/"), storage.ErrConflict)
	}
	if errors.Is(err, storage.ErrUnsure) {
		s.stats.unsure.Add(1)
		return err
	}
	return s.failure(err)
}

// A commit is one step of the database.
type commit struct {
	*Store
	base head // before the step
	head head // after the step
	ops  []op
}

// errConflict is the error of a commit whose base is not the latest head.
var errConflict = errors.New("another server committed first")

// done updates the state of the store after the commit was written at rev.
func (c *commit) done(rev int64, idField func(collection string) string) {
	c.setWriteError(nil)
	c.head.rev = rev
	d := newStep()
	d.head = &c.head
	for _, o := range c.ops {
		if o.end == "" {
			d.add(o.key, o.value, rev)
		}
	}
	d.sort()

	c.mu.Lock()
	defer c.mu.Unlock()
	c.advanceLocked(d)
	if idField != nil {
		c.idField = idField
	}
}

// checkSize returns an error if the commit does not fit in one transaction.
func (c *commit) checkSize() error {
	size := 0
	for _, o := range c.ops {
		if err := c.checkOp(o); err != nil {
			return err
		}
		size += o.size() + len(c.prefix)
	}
	if n := len(c.ops); n > maxOperations {
		return tooLarge("the change has %s keys; etcd takes %s at once: send it in parts",
			thousands(n), thousands(maxOperations))
	}
	if size > maxBytes {
		return tooLarge("the change has %s KiB; etcd takes %s at once: send it in parts",
			thousands(size>>10), thousands(maxBytes>>10))
	}
	return nil
}

// checkOp returns an error if etcd does not accept the operation at all.
func (s *Store) checkOp(o op) error {
	if len(o.key) > maxKey-len(s.prefix) {
		return tooLarge("a name or an id has more than %s bytes", thousands(maxKey-len(s.prefix)-64))
	}
	if len(o.value) > maxValue {
		return tooLarge("the value of %s has %s bytes; etcd takes %s",
			o.key, thousands(len(o.value)), thousands(maxValue))
	}
	return nil
}

func tooLarge(format string, args ...any) error {
	return &storage.AdviceError{Err: storage.ErrTooLarge, Advice: fmt.Sprintf(format, args...)}
}

// thousands formats a number with commas, as in 4,032.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// size returns about how many bytes an operation adds to a request.
func (o op) size() int { return len(o.key) + len(o.end) + len(o.value) + 32 }

// try writes the head and performs the operations if the base is still the latest head.
// Otherwise the error is errConflict, with the revision of the latest head or 0. The
// error wraps storage.ErrUnsure if the outcome is unknown.
func (c *commit) try(ctx context.Context) (int64, error) {
	c.head.Keys = countKeys(c.ops)
	then := append([]clientv3.Op{c.putHead(c.head.encode())}, c.nested(c.ops)...)
	r, err := c.transact(ctx, writeTime, c.isLatest(c.base), then)
	switch {
	case err == nil && r.Succeeded:
		return r.Header.Revision, nil
	case err == nil:
		return c.confirm(elseRead(r))
	case errors.Is(err, rpctypes.ErrNoSpace):
		return c.resolveFull(ctx, err)
	case isRefused(err), isUnsent(err):
		return 0, err
	}
	return c.resolve(ctx, err)
}

// confirm returns the revision of the commit if the latest head, in kvs, is its own. The
// client of etcd may have sent the transaction twice.
func (c *commit) confirm(kvs []*mvccpb.KeyValue) (int64, error) {
	h, err := c.parseHead(kvs)
	if err != nil {
		return h.rev, err
	}
	if h.Prev == c.base.rev && h.Commit == c.head.Commit {
		return h.rev, nil
	}
	if h.rev <= c.base.rev { // after a restore from a backup
		return 0, errConflict
	}
	return h.rev, errConflict
}

// transact performs a transaction that reads the head if a condition does not hold. The
// call is repeated while no node has received the transaction.
func (s *Store) transact(
	ctx context.Context, limit time.Duration, conditions []clientv3.Cmp, then []clientv3.Op,
) (*clientv3.TxnResponse, error) {
	op := clientv3.OpTxn(conditions, then, []clientv3.Op{clientv3.OpGet(s.prefix + headKey)})
	for try := 0; ; try++ {
		call, cancel := context.WithTimeout(ctx, limit)
		r, err := s.etcd.Do(call, op)
		cancel()
		if err == nil || !isUnsent(err) || try == 4 || ctx.Err() != nil {
			return r.Txn(), err
		}
		time.Sleep(repeatAfter)
	}
}

// elseRead returns the keys that transact read because a condition did not hold.
func elseRead(r *clientv3.TxnResponse) []*mvccpb.KeyValue {
	return r.Responses[0].GetResponseRange().Kvs
}

// isLatest returns the conditions that h is the latest head. The revision alone does not
// identify a head: after a restore from a backup, another head may have the same.
func (s *Store) isLatest(h head) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(s.prefix+headKey), "=", h.rev),
		clientv3.Compare(clientv3.Value(s.prefix+headKey), "=", h.text),
	}
}

// nested returns operations for a transaction that also writes the head. More than 63 are
// split into up to 63 nested transactions of up to 64 operations, because etcd accepts 128
// operations on both levels together.
func (s *Store) nested(ops []op) []clientv3.Op {
	const wide = 63
	if len(ops) <= wide {
		return s.clientOps(ops)
	}
	var all []clientv3.Op
	for group := range slices.Chunk(ops, (len(ops)+wide-1)/wide) {
		all = append(all, clientv3.OpTxn(nil, s.clientOps(group), nil))
	}
	return all
}

// clientOps converts operations for the client of etcd.
func (s *Store) clientOps(ops []op) []clientv3.Op {
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
