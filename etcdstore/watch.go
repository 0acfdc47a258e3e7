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

// maxBehind is the number of missed commits above which a store loads the contents
// instead. Etcd sends up to 1,000 revisions in one response, each of up to a megabyte.
const maxBehind = 64

// Watch implements storage.SharedStore.
func (s *Store) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		f := s.newFollower(int64(after))
		f.yield = func(b storage.Batch, err error) (more bool) {
			if more = ctx.Err() == nil && yield(b, err); !more {
				cancel()
			}
			return more
		}
		for ctx.Err() == nil {
			if !f.approach(ctx) {
				wait(ctx, time.After(probeEach))
				continue
			}
			f.receive(ctx)
			f.stats.restarts.Add(1)
			wait(ctx, time.After(repeatAfter))
		}
	}
}

// wait waits for c, or until ctx is done.
func wait[T any](ctx context.Context, c <-chan T) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// A follower receives the events of the keys of a Store while Watch runs.
type follower struct {
	*Store
	began    time.Time
	yield    func(storage.Batch, error) bool // what Watch got; false from the end of Watch on
	reported error                           // what was yielded last, nil: a batch
	last     int64                           // the revision of the last head received
	count    int64                           // head.Count of that, or less
	seen     int64                           // a later head that was the latest at seenAt
	seenAt   time.Time                       // zero without a later head
	from     int64                           // the next revision to watch
	edited   int64                           // the revision of a hand edit that is not shown yet, or 0
	behind   bool                            // what changed is not known: everything has to be loaded
	checked  bool                            // whether etcd refuses commits is known
}

// newFollower returns a follower of what comes after a revision.
func (s *Store) newFollower(after int64) *follower {
	f := &follower{Store: s, began: time.Now(), checked: s.readOnly}
	f.begin(after)
	return f
}

// begin makes f one of what comes after a revision.
func (f *follower) begin(after int64) {
	f.last, f.from, f.edited, f.behind = after, after+1, 0, false
	f.mu.Lock()
	defer f.mu.Unlock()
	if st := f.state; st != nil {
		f.count = st.head.Count - max(st.rev-after, 0) // not every revision is a head
		if st.rev == after {
			f.from, f.edited = st.asOf+1, st.edited
		}
	}
}

// give yields a batch.
func (f *follower) give(b storage.Batch) {
	f.last, f.reported = int64(b.Rev), nil
	if f.yield(b, nil) {
		f.confirm()
	}
}

// confirm makes the store fresh if the head that was seen has been yielded. Of the heads that
// have not been, the first one counts: under steady writes the last is never yielded in time.
func (f *follower) confirm() {
	if f.seen <= f.last {
		f.freshen(f.seenAt)
		f.seenAt = time.Time{}
	}
}

// report yields an error unless the last one was the same, or nil after an error as a batch
// without changes.
func (f *follower) report(err error) {
	away := errors.Is(err, storage.ErrAway) && errors.Is(f.reported, storage.ErrAway) // the causes may differ
	switch {
	case err == nil && f.reported != nil:
		f.give(storage.Batch{Rev: storage.Rev(f.last), After: storage.Rev(f.last)})
	case err != nil && !away && (f.reported == nil || err.Error() != f.reported.Error()):
		f.reported = err
		f.yield(storage.Batch{Rev: storage.Rev(f.last)}, err)
	}
}

// stale returns why what Watch has yielded may be old, nil if it is not.
func (f *follower) stale() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.gone != nil:
		return f.gone
	case time.Since(f.fresh) <= staleAfter || time.Since(f.began) <= staleAfter:
		return nil
	}
	return &storage.AwayError{Since: f.fresh, Err: cmp.Or(f.away, errors.New("the watch lags behind"))}
}

// approach prepares for a watch, and reports whether the cluster can be watched. If many
// commits were missed, it loads the contents, which needs less memory.
func (f *follower) approach(ctx context.Context) bool {
	_, h, err := f.probe(ctx)
	if isAway(err) || f.lost() != nil {
		f.report(f.stale())
		return false
	}
	if err == nil && h.Count-f.count > maxBehind {
		f.behind = true
	}
	return f.settle(ctx)
}

// settle loads the contents if they are not known, and commits a head after a hand edit. It
// reports whether the watch can go on.
func (f *follower) settle(ctx context.Context) bool {
	if f.behind {
		began := time.Now()
		b, err := f.load(ctx)
		if err != nil {
			f.report(err)
			return false
		}
		f.stats.reloads.Add(1)
		f.begin(int64(b.Rev))
		f.seen, f.seenAt = f.last, began
		f.give(b)
	}
	return f.edited == 0 || !isAway(f.commitReload(ctx))
}

// receive receives events until the watch of etcd ends, or the cluster does not answer.
// The next one goes on after the last event. The revision of a response does not say that
// there are no events before it: a watch that is far behind receives several responses,
// all with the latest revision.
func (f *follower) receive(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	responses := f.etcd.Watch(ctx, f.prefix, clientv3.WithRange(clientv3.GetPrefixRangeEnd(f.prefix)), clientv3.WithRev(f.from), clientv3.WithProgressNotify())
	tick := time.NewTicker(probeEach)
	defer tick.Stop()
	for latest := int64(0); ; {
		select {
		case r, ok := <-responses:
			if r.CompactRevision != 0 {
				f.skip(ctx)
			}
			if !ok || r.Err() != nil {
				return
			}
			for _, events := range byRevision(r.Events) {
				if events[0].Kv.ModRevision >= f.from && !f.handle(ctx, events) { // else it was loaded
					return
				}
			}
			if r.IsProgressNotify() {
				f.from = max(f.from, r.Header.Revision+1)
			}
			latest = 0
		case <-tick.C:
			rev, _, err := f.probe(ctx)
			if isAway(err) || f.last < latest { // no event since the last probe: the watch hangs
				return
			}
			latest = rev
			f.report(f.stale())
		}
	}
}

// handle handles the events of one revision. It reports whether the next can be handled now.
func (f *follower) handle(ctx context.Context, events []*clientv3.Event) bool {
	d, err := f.decode(events)
	if f.lost() != nil {
		return false
	}
	f.from = d.rev + 1
	switch {
	case err != nil || d.reload || f.edited > 0 && d.head != nil:
		f.behind = true
	case d.edited:
		f.stats.foreign.Add(1)
		f.edited = d.rev
	case d.head.Prev != f.last: // see I2
		f.stats.gaps.Add(1)
		f.log.Error("etcd has not reported a commit; loading everything", "after", f.last, "revision", d.rev, "follows", d.head.Prev)
		f.behind = true
	default:
		f.mu.Lock()
		f.noteLocked(d)
		f.mu.Unlock()
		f.count = d.head.Count
		f.give(d.batch)
	}
	return f.settle(ctx)
}

// skip makes the next watch begin at the current revision, because etcd has compacted the
// earlier ones. If the head is the same, a hand edit may have been among them.
func (f *follower) skip(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	rev, _, asOf, err := f.latest(call)
	if err != nil {
		return
	}
	if f.behind = rev != f.last; !f.behind {
		f.edited = f.from - 1
	}
	f.from = asOf + 1
}

// commitReload commits a head that makes every replica load a hand edit. A store that may
// not write loads it with the next head instead.
func (f *follower) commitReload(ctx context.Context) error {
	if f.readOnly {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	for {
		rev, h, _, err := f.latest(ctx)
		if err != nil || h.Reload && rev > f.edited || h.Reset > f.edited { // another replica did so
			return err
		}
		c := &commit{Store: f.Store, base: rev, last: h, head: f.next(h, rev)}
		c.head.Reload = true
		if _, err = c.try(ctx); !errors.Is(err, errConflict) {
			if err == nil {
				f.log.Warn("a hand edit was found; every server loads it now", "after", f.edited)
			}
			return err
		}
	}
}

// probe reads the head. At the start, and while etcd refuses commits, it also checks
// whether it does.
func (f *follower) probe(ctx context.Context) (rev int64, h head, err error) {
	call, cancel := context.WithTimeout(ctx, 2*readTime)
	defer cancel()
	began := time.Now()
	rev, h, _, err = f.latest(call)
	if err == nil && f.seenAt.IsZero() {
		f.seen, f.seenAt = rev, began
	}
	f.confirm()
	if f.failure(err) == nil && (!f.checked || f.Writable() != nil) {
		f.checked = f.checkWritable(call)
	}
	return rev, h, err
}
