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
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// Commit makes the changes of all updates durable in one step, which has one
// revision. Errors wrap:
//
//   - storage.ErrConflict: another replica was faster; Since has its changes
//   - storage.ErrAway: the cluster does not answer; nothing changed
//   - storage.ErrUnsure: it did not answer either when asked for the outcome
//   - storage.ErrFull, storage.ErrReadOnly: etcd has refused it
//   - storage.ErrTooLarge: it does not fit one transaction; nothing changed
//   - storage.ErrBroken: the value of a key is not JSON
func (s *Store) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	return s.commit(ctx, int64(base), slices.Concat(updates...), nil)
}

// CommitRules implements storage.SharedStore.
func (s *Store) CommitRules(ctx context.Context, base storage.Rev, rules []byte, idMember func(string) string, changes []storage.Change) (storage.Rev, error) {
	return s.commit(ctx, int64(base), changes, &newRules{rules, idMember})
}

// newRules are the rules of CommitRules.
type newRules struct {
	text     []byte
	idMember func(collection string) string
}

// commit makes changes durable; rules may be nil.
func (s *Store) commit(ctx context.Context, base int64, changes []storage.Change, rules *newRules) (storage.Rev, error) {
	if s.readOnly {
		return 0, fmt.Errorf("%w: the cluster is served without writing", storage.ErrReadOnly)
	}
	s.committing.Lock()
	defer s.committing.Unlock()
	s.setOvertaker(0)
	if err := s.reachable(ctx); err != nil {
		return 0, err
	}
	st, err := s.at(ctx, base)
	if err != nil {
		return 0, s.outcome(err)
	}
	s.mu.Lock()
	if st.rev != base { // a watch was faster
		s.mu.Unlock()
		return 0, s.outcome(errMoved)
	}
	last, ids := st.head, s.idMember
	if rules != nil {
		ids = rules.idMember
	}
	p, err := newPlan(st, ids, changes)
	if err != nil {
		s.mu.Unlock()
		return 0, err
	}
	ops, whole := p.ops()
	switch {
	case rules == nil:
	case len(rules.text) > 0:
		ops = append(ops, put(rulesKey, rules.text))
	case st.rules:
		ops = append(ops, del(rulesKey))
	}
	s.mu.Unlock()

	c := &commit{Store: s, base: base, last: last, head: s.next(last, base), ops: ops}
	c.head.Whole = whole
	rev, err := c.run(ctx)
	if err != nil {
		return 0, s.outcome(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idMember, s.refused = ids, nil
	switch {
	case s.state == nil || s.state.rev != base: // a watch was faster
	case s.state != st: // it was loaded again, and does not have the changes
		s.state = nil
	default:
		d := newStep(rev)
		d.head = &c.head
		for _, o := range ops {
			if o.end == "" {
				d.add(o.key, o.value, rev)
			}
		}
		st.apply(d)
	}
	return storage.Rev(rev), nil
}

// outcome returns the error of Commit for one of its parts.
func (s *Store) outcome(err error) error {
	switch {
	case errors.Is(err, errMoved):
		s.stats.conflicts.Add(1)
		return fmt.Errorf("%s: %w", strings.TrimSuffix(s.prefix, "/"), storage.ErrConflict)
	case errors.Is(err, storage.ErrUnsure):
		s.stats.unsure.Add(1)
		return err
	}
	return s.failure(err)
}

// reachable returns an error if the contents are broken, or if the cluster did not
// answer the last time and does not answer now. A transaction is better not sent then:
// its outcome would be open.
func (s *Store) reachable(ctx context.Context) error {
	s.mu.Lock()
	away, broken := s.away, cmp.Or(s.gone, s.broken)
	s.mu.Unlock()
	if broken != nil || away == nil {
		return broken
	}
	call, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	_, _, _, err := s.latest(call)
	return s.failure(err)
}

// at returns what is known of the database at base, if that is the latest known revision.
func (s *Store) at(ctx context.Context, base int64) (*state, error) {
	s.mu.Lock()
	st := s.state
	stale := st == nil || st.rev < base
	s.mu.Unlock()
	if stale {
		if _, err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.rev != base {
		return nil, errMoved
	}
	return s.state, nil
}

// A commit is one step of the database from the head last, written at base.
type commit struct {
	*Store
	base int64
	last head
	head head // the new one
	ops  []op
}

// run writes the operations as one step, and returns the revision that has them.
func (c *commit) run(ctx context.Context) (int64, error) {
	size := 0
	for _, o := range c.ops {
		if err := c.check(o); err != nil {
			return 0, err
		}
		size += o.size() + len(c.prefix)
	}
	switch {
	case len(c.ops) > maxOperations:
		return 0, tooLarge(fmt.Sprintf("the change has %s keys; etcd takes %s at once: send it in parts", thousands(len(c.ops)), thousands(maxOperations)))
	case size > maxBytes:
		return 0, tooLarge(fmt.Sprintf("the change has %s KiB; etcd takes %s at once: send it in parts", thousands(size>>10), thousands(maxBytes>>10)))
	}
	return c.try(ctx, c.ops)
}

// check returns an error if etcd does not take the operation even alone.
func (s *Store) check(o op) error {
	switch {
	case len(o.key) > maxKey-len(s.prefix):
		return tooLarge(fmt.Sprintf("a name or an id has more than %s bytes", thousands(maxKey-len(s.prefix)-64)))
	case len(o.value) > maxValue:
		return tooLarge(fmt.Sprintf("the value of %s has %s bytes; etcd takes %s", o.key, thousands(len(o.value)), thousands(maxValue)))
	}
	return nil
}

func tooLarge(advice string) error {
	return &storage.AdviceError{Err: storage.ErrTooLarge, Advice: advice}
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

// fit returns how many of the operations of an import one transaction carries, at least
// one.
func fit(ops []op, prefix int) int {
	size := 0
	for i, o := range ops {
		if size += o.size() + prefix; i == maxOperations || i > 0 && size > maxBytes {
			return i
		}
	}
	return len(ops)
}

// try writes the head, and ops with it, if the head is still that of the base. The
// error is errMoved if it is not, and wraps storage.ErrUnsure if that cannot be found
// out.
func (c *commit) try(ctx context.Context, ops []op) (int64, error) {
	c.head.Keys = counted(ops)
	then := append([]clientv3.Op{clientv3.OpPut(c.prefix+headKey, c.head.encode())}, c.nested(ops)...)
	r, err := c.transact(ctx, writeTime, c.unmoved(c.base, c.last), then)
	switch {
	case err == nil && r.Succeeded:
		return r.Header.Revision, nil
	case err == nil:
		return c.confirm(found(r))
	case isRefused(err), isUnsent(err):
		return 0, err
	}
	return c.resolve(ctx, err)
}

// confirm returns the revision of the commit if it wrote the head that was found.
func (c *commit) confirm(kvs []*mvccpb.KeyValue) (int64, error) {
	if len(kvs) == 0 {
		return 0, c.absent()
	}
	h, err := decodeHead(kvs[0].Value)
	if err != nil {
		return 0, err
	}
	if h.Prev == c.base && h.Commit == c.head.Commit {
		return kvs[0].ModRevision, nil // it was sent twice
	}
	c.setOvertaker(kvs[0].ModRevision)
	return 0, errMoved
}

// setOvertaker notes the revision of the head that was written before a commit could be.
// 0 forgets it.
func (s *Store) setOvertaker(rev int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overtaker = rev
}

// transact performs a transaction that reads the head if its conditions do not hold. It asks other nodes as long as none has received it.
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

// unmoved returns the conditions that the head is h, written at rev. In another cluster,
// or in this one after a restore, another head may have that revision.
func (s *Store) unmoved(rev int64, h head) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(s.prefix+headKey), "=", rev),
		clientv3.Compare(clientv3.Value(s.prefix+headKey), "=", h.text),
	}
}

// headless is the condition that there is no head.
func (s *Store) headless() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(s.prefix+headKey), "=", 0)
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
