package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// maxMissed is the maximum number of missed commits that a follower reads one by one.
// After more, a load is cheaper: etcd sends up to 1,000 revisions in one response, of
// up to a megabyte each.
const maxMissed = 64

// Watch implements storage.SharedStore.
func (s *Store) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		f := s.newFollower(int64(after))
		f.yield = func(b storage.Batch, err error) bool {
			if ctx.Err() == nil && yield(b, err) {
				return true
			}
			cancel()
			return false
		}
		for ctx.Err() == nil {
			if !f.prepare(ctx) {
				sleep(ctx, probeEach)
				continue
			}
			f.receive(ctx)
			f.stats.restarts.Add(1)
			sleep(ctx, repeatAfter)
		}
	}
}

// sleep waits for d, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// A follower receives the changes of a Store while Watch runs.
type follower struct {
	*Store
	started       time.Time
	yield         func(storage.Batch, error) bool // yields to the caller of Watch until the caller stops
	reported      error                           // the last error yielded, nil after a batch
	last          int64                           // the revision of the last head yielded
	count         int64                           // a lower bound of the Count of that head
	seen          int64                           // the revision of the latest head at seenAt
	seenAt        time.Time                       // zero: no head waits to be confirmed
	from          int64                           // the next revision to watch
	handEdit      int64                           // the revision of a hand edit that was not yielded, or 0
	needsReload   bool                            // the changes are unknown
	checkedWrites bool                            // checkWritable has had an answer
}

// newFollower returns a follower of the changes after a revision.
func (s *Store) newFollower(after int64) *follower {
	f := &follower{Store: s, started: time.Now(), checkedWrites: s.readOnly}
	f.startAfter(after)
	return f
}

// startAfter makes f follow the changes after a revision.
func (f *follower) startAfter(rev int64) {
	f.last = rev
	f.from = rev + 1
	f.handEdit = 0
	f.needsReload = false
	f.mu.Lock()
	defer f.mu.Unlock()
	st := f.state
	if st == nil {
		return
	}
	f.count = st.head.Count - max(st.head.rev-rev, 0) // there are no more heads than revisions
	if st.head.rev == rev {
		f.from = st.asOf + 1
		f.handEdit = st.handEdit
	}
}

// yieldBatch yields a batch.
func (f *follower) yieldBatch(b storage.Batch) {
	f.last = int64(b.Rev)
	f.reported = nil
	if f.yield(b, nil) {
		f.confirm()
	}
}

// confirm updates Fresh if the head that was seen has been yielded. The first head not yet
// yielded counts: under steady writes, the latest head would never be yielded in time.
func (f *follower) confirm() {
	if f.seen <= f.last {
		f.setFresh(f.seenAt)
		f.seenAt = time.Time{}
	}
}

// report yields err, unless it repeats the last error. If err is nil and the last yield was
// an error, report yields a batch without changes.
func (f *follower) report(err error) {
	if err == nil {
		if f.reported != nil {
			f.yieldBatch(storage.Batch{Rev: storage.Rev(f.last), After: storage.Rev(f.last)})
		}
		return
	}
	isAway := errors.Is(err, storage.ErrAway) && errors.Is(f.reported, storage.ErrAway) // whatever the causes
	if isAway || f.reported != nil && err.Error() == f.reported.Error() {
		return
	}
	f.reported = err
	f.yield(storage.Batch{Rev: storage.Rev(f.last)}, err)
}

// staleError returns the reason why the state that was yielded may be old, or nil.
func (f *follower) staleError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fatal != nil {
		return f.fatal
	}
	if time.Since(f.fresh) <= staleAfter || time.Since(f.started) <= staleAfter {
		return nil
	}
	return &storage.AwayError{Since: f.fresh, Err: cmp.Or(f.lastError, errors.New("the watch lags behind"))}
}

// prepare prepares a watch, and reports whether the watch can start. After many missed
// commits it loads the contents, which needs less memory.
func (f *follower) prepare(ctx context.Context) bool {
	h, err := f.probe(ctx)
	if isUnreachable(err) || f.fatalError() != nil {
		f.report(f.staleError())
		return false
	}
	if err == nil && h.Count-f.count > maxMissed {
		f.needsReload = true
	}
	return f.catchUp(ctx)
}

// catchUp loads the contents if the changes are unknown, and commits a head after a hand
// edit. It reports whether the watch can go on.
func (f *follower) catchUp(ctx context.Context) bool {
	if f.needsReload {
		started := time.Now()
		b, err := f.load(ctx)
		if err != nil {
			f.report(err)
			return false
		}
		f.stats.reloads.Add(1)
		f.startAfter(int64(b.Rev))
		f.seen = f.last
		f.seenAt = started
		f.yieldBatch(b)
	}
	return f.handEdit == 0 || !isUnreachable(f.commitReload(ctx))
}

// receive receives events until etcd ends the watch or stops answering. The next watch
// continues after the last event, and not after the revision of the last response: a
// response to a watch that lags behind has the latest revision, and more responses with
// earlier events may follow.
func (f *follower) receive(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	responses := f.etcd.Watch(ctx, f.prefix, f.toEnd(), clientv3.WithRev(f.from), clientv3.WithProgressNotify())
	tick := time.NewTicker(probeEach)
	defer tick.Stop()
	latest := int64(0) // the head at the last tick, or 0 if a response came since
	for {
		select {
		case r, ok := <-responses:
			if !ok || !f.handleResponse(ctx, r) {
				return
			}
			latest = 0
		case <-tick.C:
			h, err := f.probe(ctx)
			hangs := f.last < latest // there was no response for a whole tick, and latest was not yielded
			if isUnreachable(err) || hangs {
				return
			}
			latest = h.rev
			f.report(f.staleError())
		}
	}
}

// handleResponse handles a response of a watch, and reports whether the watch can go on.
func (f *follower) handleResponse(ctx context.Context, r clientv3.WatchResponse) bool {
	if r.CompactRevision != 0 {
		f.skipCompacted(ctx)
	}
	if r.Err() != nil {
		return false
	}
	for _, events := range byRevision(r.Events) {
		isLoaded := events[0].Kv.ModRevision < f.from
		if !isLoaded && !f.handle(ctx, events) {
			return false
		}
	}
	if r.IsProgressNotify() {
		f.from = max(f.from, r.Header.Revision+1)
	}
	return true
}

// handle handles the events of one revision, and reports whether the watch can go on.
func (f *follower) handle(ctx context.Context, events []*clientv3.Event) bool {
	d, err := f.decode(events)
	if f.fatalError() != nil {
		return false
	}
	rev := events[0].Kv.ModRevision
	f.from = rev + 1
	switch {
	case err != nil || f.handEdit > 0 && d.head != nil:
		f.needsReload = true
	case d.head == nil:
		f.stats.handEdits.Add(1)
		f.handEdit = rev
	case d.head.Prev != f.last: // see I2
		f.stats.gaps.Add(1)
		f.log.Error("etcd did not report a commit; loading everything",
			"after", f.last, "revision", rev, "follows", d.head.Prev)
		f.needsReload = true
	default:
		f.advance(d)
		f.count = d.head.Count
		f.yieldBatch(d.batch)
	}
	return f.catchUp(ctx)
}

// skipCompacted makes the next watch start at the current revision, because etcd has
// compacted earlier ones. If there is no new head, there may still have been a hand edit.
func (f *follower) skipCompacted(ctx context.Context) {
	h, asOf, err := f.readHead(ctx, readTime)
	if err != nil {
		return
	}
	f.needsReload = h.rev != f.last
	if !f.needsReload {
		f.handEdit = f.from - 1
	}
	f.from = asOf + 1
}

// commitReload commits a head that makes every replica load a hand edit. A read-only store
// instead loads the hand edit with the next head.
func (f *follower) commitReload(ctx context.Context) error {
	if f.readOnly {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	for {
		h, _, err := f.readHead(ctx, writeTime)
		if err != nil {
			return err
		}
		if h.Reload && h.rev > f.handEdit || h.Reset > f.handEdit { // another replica has committed one
			return nil
		}
		c := &commit{Store: f.Store, base: h, head: f.nextHead(h)}
		c.head.Reload = true
		_, err = c.try(ctx)
		if err == nil {
			f.log.Warn("found a hand edit; every server loads it now", "after", f.handEdit)
		}
		if !errors.Is(err, errConflict) {
			return err
		}
	}
}

// probe reads the head. If etcd refuses commits, or nobody knows yet, probe also checks
// whether etcd accepts them.
func (f *follower) probe(ctx context.Context) (head, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*readTime)
	defer cancel()
	started := time.Now()
	h, _, err := f.readHead(ctx, 2*readTime)
	if err == nil && f.seenAt.IsZero() {
		f.seen = h.rev
		f.seenAt = started
	}
	f.confirm()
	if f.failure(err) == nil && (!f.checkedWrites || f.Writable() != nil) {
		f.checkedWrites = f.checkWritable(ctx)
	}
	return h, err
}
