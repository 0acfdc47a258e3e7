package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// keepBatches is the number of commits that a watcher may lag behind before it gets
// the whole contents instead.
const keepBatches = 256

// maxBehind is the number of missed commits above which a store loads the contents
// instead. Etcd sends up to 1,000 revisions in one response, each of up to a megabyte.
const maxBehind = 64

// Watch implements storage.SharedStore. A goroutine receives the events of etcd until
// the call ends.
func (s *Store) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		f := s.newFollower(int64(after))
		s.setFeed(f.feed)
		defer s.setFeed(nil)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { f.run(ctx) })

		var reported error
		for ctx.Err() == nil {
			batches, ok, more := f.feed.Since(after)
			err := f.stale()
			var failed error
			if !ok {
				batches = make([]storage.Batch, 1)
				if batches[0], failed = s.load(ctx); failed != nil {
					batches, err = nil, failed
				}
			}
			if reported != nil && err == nil && len(batches) == 0 {
				batches = []storage.Batch{{Rev: after, After: after}}
			}
			for _, b := range batches {
				after, reported = b.Rev, nil
				if ctx.Err() != nil || !yield(b, nil) {
					return
				}
				s.show(b.Rev)
			}
			away := errors.Is(err, storage.ErrAway) && errors.Is(reported, storage.ErrAway) // the causes may differ
			if err != nil && !away && (reported == nil || err.Error() != reported.Error()) {
				reported = err
				if ctx.Err() != nil || !yield(storage.Batch{Rev: after}, err) {
					return
				}
			}
			if failed != nil {
				wait(ctx, time.After(reloadAfter))
			}
			wait(ctx, more)
		}
	}
}

// Since implements storage.SharedStore. It yields what a running Watch receives, or else
// loads the contents.
func (s *Store) Since(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		s.mu.Lock()
		feed, latest := s.feed, storage.Rev(s.conflict)
		s.conflict = 0
		s.mu.Unlock()
		if latest <= after { // no commit has found a later one
			var err error
			if latest, err = s.Latest(ctx); err != nil {
				yield(storage.Batch{}, err)
				return
			}
		}
		if latest <= after {
			return
		}
		batches := await(ctx, feed, after, latest)
		if batches == nil {
			b, err := s.load(ctx)
			if err != nil {
				yield(b, err)
				return
			}
			batches = []storage.Batch{b}
		}
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
			s.show(b.Rev)
		}
	}
}

// await waits for the batches after a revision up to another. It returns nil if the feed,
// which may be nil, does not get them.
func await(ctx context.Context, feed *storage.Feed, after, latest storage.Rev) []storage.Batch {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	for ok := feed != nil; ok && ctx.Err() == nil; {
		batches, known, more := feed.Since(after)
		if n := len(batches); n > 0 && batches[n-1].Rev >= latest {
			return batches
		}
		if ok = known; ok {
			wait(ctx, more)
		}
	}
	return nil
}

// wait waits for c, or until ctx is done.
func wait[T any](ctx context.Context, c <-chan T) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// setFeed makes Since use the batches of a feed, or none.
func (s *Store) setFeed(feed *storage.Feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.feed = feed
}

// A follower receives the events of the keys of a Store while Watch runs. If it does not
// know what changed, it makes Watch load the contents.
type follower struct {
	*Store
	feed  *storage.Feed
	began time.Time

	// Only the goroutine that receives uses the following.
	last    int64 // the revision of the last head received
	count   int64 // head.Count of that, or less
	from    int64 // the next revision to watch
	edited  int64 // the revision of a hand edit that is not shown yet, or 0
	checked bool  // whether etcd refuses commits is known
	refused error // what Writable returned before
}

// newFollower returns a follower of what comes after a revision.
func (s *Store) newFollower(after int64) *follower {
	f := &follower{
		Store: s, feed: storage.NewFeed(storage.Rev(after), keepBatches), began: time.Now(),
		last: after, from: after + 1, checked: s.readOnly,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.state; st != nil {
		f.count = st.head.Count - max(st.rev-after, 0) // not every revision is a head
		if st.rev == after {
			f.from, f.edited = st.asOf+1, st.edited
		}
	}
	return f
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

// run receives events until ctx is done.
func (f *follower) run(ctx context.Context) {
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

// approach prepares for a watch, and reports whether the cluster can be watched. If many
// commits were missed, it makes Watch load the contents, which needs less memory.
func (f *follower) approach(ctx context.Context) bool {
	rev, h, err := f.probe(ctx)
	if isAway(err) || f.lost() != nil {
		return false
	}
	if err == nil && h.Count-f.count > maxBehind {
		f.reset(rev, &h)
		f.from = rev + 1
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
				if f.handle(ctx, events) != nil {
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
		}
	}
}

// handle handles the events of one revision. After an error they have to be received
// again.
func (f *follower) handle(ctx context.Context, events []*clientv3.Event) error {
	d, err := f.decode(events)
	switch {
	case f.lost() != nil:
		return f.lost()
	case err != nil || d.reload || f.edited > 0 && d.head != nil:
		f.reset(d.rev, d.head)
	case d.edited:
		f.stats.foreign.Add(1)
		f.edited = d.rev
		if err := f.commitReload(ctx); isAway(err) {
			return err
		}
	case d.head == nil: // keys of an earlier version
	case d.head.Prev != f.last: // see I2
		f.stats.gaps.Add(1)
		f.log.Error("etcd has not reported a commit; loading everything", "after", f.last, "revision", d.rev, "follows", d.head.Prev)
		f.reset(d.rev, d.head)
	default:
		f.mu.Lock()
		f.noteLocked(d)
		f.mu.Unlock()
		f.publish(d.batch, d.head)
	}
	f.from = d.rev + 1
	return nil
}

// publish gives a batch to Watch and Since.
func (f *follower) publish(b storage.Batch, h *head) {
	if h != nil {
		f.count = h.Count
	}
	f.last = int64(b.Rev)
	f.feed.Publish(b)
}

// reset makes Watch load the contents, which are at rev or later.
func (f *follower) reset(rev int64, h *head) {
	f.stats.reloads.Add(1)
	f.edited = 0
	f.publish(storage.Batch{Rev: storage.Rev(rev), Reset: true}, h)
}

// skip makes the next watch begin at the current revision, because etcd has compacted the
// earlier ones. If the head is the same, a hand edit may have been among them.
func (f *follower) skip(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	rev, h, asOf, err := f.latest(call)
	if err != nil {
		return
	}
	if rev == f.last {
		f.edited = f.from - 1
	} else {
		f.reset(rev, &h)
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

// probe reads the head, and wakes Watch, which may have to report that its state is stale.
// At the start, and while etcd refuses commits, it also checks whether it does.
func (f *follower) probe(ctx context.Context) (rev int64, h head, err error) {
	call, cancel := context.WithTimeout(ctx, 2*readTime)
	defer cancel()
	rev, h, _, err = f.latest(call)
	if f.failure(err) == nil && (!f.checked || f.Writable() != nil) {
		f.checked = f.checkWritable(call)
	}
	refused := f.Writable()
	switch {
	case refused != nil && f.refused == nil:
		f.log.Warn("etcd refuses writes", "error", refused)
	case refused == nil && f.refused != nil:
		f.log.Info("etcd accepts writes again")
	}
	f.refused = refused
	f.feed.Publish(storage.Batch{})
	return rev, h, err
}
