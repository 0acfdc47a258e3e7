package etcdstore

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// keepBatches is the number of commits that a watcher may lag behind before it gets
// the whole contents instead.
const keepBatches = 256

// maxBehind is the number of missed commits above which a store loads the contents
// instead. Etcd sends up to 1,000 revisions in one response, each of up to a megabyte.
const maxBehind = 64

// Watch implements storage.SharedStore. One goroutine receives the events of etcd,
// another reads the head each second; both end with the call.
func (s *Store) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		f := s.newFollower(int64(after))
		s.setFollower(f)
		defer s.setFollower(nil)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { f.run(ctx) })
		running.Go(func() { f.probe(ctx) })

		var reported error
		for ctx.Err() == nil {
			batches, more, err := f.since(ctx, after)
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
			if err != nil && (reported == nil || err.Error() != reported.Error()) {
				reported = err
				if ctx.Err() != nil || !yield(storage.Batch{Rev: after}, err) {
					return
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
			}
		}
	}
}

// Since implements storage.SharedStore. As a rule a running Watch has received the
// batches.
func (s *Store) Since(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		s.mu.Lock()
		f, latest := s.follower, storage.Rev(s.overtaker)
		s.overtaker = 0
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
		batches := f.until(ctx, after, latest)
		if batches == nil {
			batches = s.receive(ctx, after, latest)
		}
		if batches == nil {
			b, err := s.load(ctx)
			if !yield(b, err) || err != nil {
				return
			}
			s.show(b.Rev)
		}
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
			s.show(b.Rev)
		}
	}
}

// receive returns the batches after a revision up to another by a watch of its own,
// or nil if it does not get all of them.
func (s *Store) receive(ctx context.Context, after, latest storage.Rev) []storage.Batch {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	f := s.newFollower(int64(after))
	f.goal, f.restart = int64(latest), cancel
	if f.isFar() {
		return nil
	}
	f.events(ctx)
	batches, _, _ := f.feed.Since(after)
	if len(batches) == 0 || batches[len(batches)-1].Rev < latest {
		return nil
	}
	return batches
}

// A follower receives the events of the keys of a Store while Watch runs.
type follower struct {
	*Store
	feed *storage.Feed

	// Only the goroutine that receives uses the following.
	from   int64 // the next revision to watch
	asOf   int64 // everything up to this revision was loaded
	edited int64 // the revision of a hand edit that the load has seen without a head, or 0
	missed bool  // a hand edit is not shown yet: load with the next head
	count  int64 // head.Count of the last head received, or less
	goal   int64 // the revision of a head at which to end, or 0

	mu      sync.Mutex
	last    int64              // guarded by mu; the revision of the last head received
	heard   time.Time          // guarded by mu; when that was known to be the latest; at first, when the follower began
	behind  time.Time          // guarded by mu; since when a later head is known, zero if none is
	busy    bool               // guarded by mu; events are being handled
	trouble error              // guarded by mu; why the state may be old, nil if it is not
	restart context.CancelFunc // guarded by mu; ends the watch of etcd
}

// newFollower returns a follower of what comes after a revision.
func (s *Store) newFollower(after int64) *follower {
	f := &follower{
		Store: s, feed: storage.NewFeed(storage.Rev(after), keepBatches),
		from: after + 1, last: after, heard: time.Now(), restart: func() {},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil {
		f.count = s.state.head.Count - max(s.state.rev-after, 0) // not every revision is a head
	}
	if st := s.state; st != nil && st.rev == after {
		f.asOf, f.edited = st.asOf, st.edited
	}
	return f
}

// setFollower makes Since use the batches of a follower, or none.
func (s *Store) setFollower(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follower = f
}

// since returns the batches after rev, or the whole contents, and a channel that is
// closed when there may be more. err says why the state may be old.
func (f *follower) since(ctx context.Context, rev storage.Rev) (batches []storage.Batch, more <-chan struct{}, err error) {
	batches, ok, more := f.feed.Since(rev)
	f.mu.Lock()
	err = f.trouble
	f.mu.Unlock()
	if ok {
		return batches, more, err
	}
	b, loadErr := f.load(ctx)
	if loadErr != nil {
		time.AfterFunc(reloadAfter, f.wake)
		return nil, more, loadErr
	}
	return []storage.Batch{b}, more, err
}

// wake makes Watch look again.
func (f *follower) wake() { f.feed.Publish(storage.Batch{}) }

// until waits for the batches after a revision up to another, which etcd is about to
// report. It returns nil if they do not come, or if there is no follower.
func (f *follower) until(ctx context.Context, after, latest storage.Rev) []storage.Batch {
	if f == nil {
		return nil
	}
	late := time.After(watchWait)
	for {
		batches, ok, more := f.feed.Since(after)
		switch {
		case !ok:
			return nil
		case len(batches) > 0 && batches[len(batches)-1].Rev >= latest:
			return batches
		}
		select {
		case <-more:
		case <-late:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// run receives events until ctx is done.
func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		call, cancel := context.WithCancel(ctx)
		f.mu.Lock()
		f.restart = cancel
		f.mu.Unlock()
		pause := repeatAfter
		err := f.approach(call)
		if isAway(err) {
			pause = probeEach
		} else {
			err = f.events(call)
			f.stats.restarts.Add(1)
		}
		if f.lost() != nil { // until a restart
			pause = probeEach
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
		if isCompacted(err) {
			if err = f.skip(ctx); err == nil {
				continue
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// isFar reports whether the follower should load the contents rather than receive every
// commit that it has missed.
func (f *follower) isFar() bool {
	f.Store.mu.Lock()
	defer f.Store.mu.Unlock()
	return f.newest-f.count > maxBehind
}

// approach makes Watch load the contents if the follower was cut off and has missed many
// commits, because receiving them would need more memory than a load.
func (f *follower) approach(ctx context.Context) error {
	if time.Since(f.Fresh()) <= staleAfter && !f.isFar() {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	rev, h, _, err := f.latest(call)
	if err == nil && f.isFar() {
		f.reset(rev, &h)
		f.from = rev + 1
	}
	return err
}

// events receives events until the watch of etcd ends.
//
// After a break it goes on after the last event. The revision of a response does not
// say that there are no events before it: a watch that is far behind receives several
// responses, all with the latest revision.
func (f *follower) events(ctx context.Context) error {
	for r := range f.etcd.Watch(ctx, f.prefix, clientv3.WithRange(prefixEnd(f.prefix)), clientv3.WithRev(f.from), clientv3.WithProgressNotify()) {
		if r.CompactRevision != 0 {
			return rpctypes.ErrCompacted
		}
		if err := r.Err(); err != nil {
			return err
		}
		for _, events := range byRevision(r.Events) {
			if err := f.handle(ctx, events); err != nil {
				return err
			}
		}
		if r.IsProgressNotify() {
			f.from = max(f.from, r.Header.Revision+1)
		}
	}
	return nil
}

// handle handles the events of one revision. An error is that of a call to etcd:
// the events have to be received again.
func (f *follower) handle(ctx context.Context, events []*clientv3.Event) error {
	f.setBusy(true)
	defer f.setBusy(false)
	d, err := f.decode(events)
	f.mu.Lock()
	last := f.last
	f.mu.Unlock()
	switch {
	case ctx.Err() != nil || isAway(err):
		return err
	case f.lost() != nil:
		return f.lost()
	case d.rev <= last: // a load has it
	case err != nil || d.reload || f.missed && d.head != nil:
		f.reset(d.rev, d.head)
	case d.foreign:
		if err := f.adopt(ctx, d.rev); errors.Is(err, errMoved) || errors.Is(err, storage.ErrUnsure) || isAway(err) {
			return err
		}
	case d.head == nil: // keys of an earlier version
	case d.head.Prev != last: // see I2
		f.stats.gaps.Add(1)
		f.log.Error("etcd has not reported a commit; loading everything", "after", last, "revision", d.rev, "follows", d.head.Prev)
		f.reset(d.rev, d.head)
	default:
		f.Store.mu.Lock()
		f.noteLocked(d)
		f.Store.mu.Unlock()
		f.arrive(d.batch, d.head)
	}
	f.from = d.rev + 1
	return nil
}

func (f *follower) setBusy(busy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = busy
}

// arrive publishes a batch.
func (f *follower) arrive(b storage.Batch, h *head) {
	if h != nil {
		f.count = h.Count
	}
	f.mu.Lock()
	f.last, f.behind = int64(b.Rev), time.Time{}
	f.mu.Unlock()
	f.feed.Publish(b)
	if f.goal > 0 && int64(b.Rev) >= f.goal {
		f.restart()
	}
}

// reset makes Watch load the contents, which are at rev or later.
func (f *follower) reset(rev int64, h *head) {
	f.stats.reloads.Add(1)
	f.missed = false
	f.arrive(storage.Batch{Rev: storage.Rev(rev), Reset: true}, h)
}

// skip continues after a compaction, from the revision that was loaded or from the latest.
// If the head is the same, others have written, or somebody has written past pickup: all
// replicas load the contents.
func (f *follower) skip(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	rev, h, asOf, err := f.latest(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	same := rev == f.last
	f.mu.Unlock()
	edited := f.from - 1
	if f.from <= f.asOf { // a load has seen everything
		asOf, same, edited = f.asOf, f.edited > 0, f.edited
	} else if !same {
		f.reset(rev, &h)
	}
	if same {
		if err := f.adopt(ctx, edited); err != nil && !isRefused(err) {
			return err
		}
	}
	f.from = asOf + 1
	return nil
}

// adopt commits a head for a hand edit at a revision, so that every replica reads it. If
// it fails, the edit has to be handled again. A store that may not write loads the
// contents with the next head instead.
func (f *follower) adopt(ctx context.Context, foreign int64) error {
	f.stats.foreign.Add(1)
	f.missed = true
	if f.readOnly {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	rev, h, _, err := f.latest(call)
	switch {
	case err != nil:
		return err
	case h.Reload && rev > foreign, h.Reset > foreign: // another replica did so
		return nil
	}
	c := &commit{Store: f.Store, base: rev, last: h, head: f.next(h, rev)}
	c.head.Reload = true
	if _, err = c.try(ctx, nil); err == nil {
		f.log.Warn("a hand edit was found; every server loads it now", "after", foreign)
	}
	return err
}

// probe reads the head each second, until ctx is done. At the start, and while etcd
// refuses commits, it also asks whether it does.
func (f *follower) probe(ctx context.Context) {
	tick := time.NewTicker(probeEach)
	defer tick.Stop()
	for asked, before := f.readOnly, error(nil); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		call, cancel := context.WithTimeout(ctx, 2*readTime)
		rev, _, _, err := f.latest(call)
		if err == nil && (!asked || f.Writable() != nil) {
			asked = f.ask(call)
		}
		cancel()
		refused := f.Writable()
		switch {
		case refused != nil && before == nil:
			f.log.Warn("etcd refuses writes", "error", refused)
		case refused == nil && before != nil:
			f.log.Info("etcd accepts writes again")
		}
		before = refused
		if ctx.Err() != nil {
			return
		}
		if f.look(rev, began, f.failure(err)) {
			f.wake()
		}
	}
}

// look notes what a probe has found, and reports whether Watch has to know.
func (f *follower) look(rev int64, began time.Time, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch gone := f.lost(); {
	case gone != nil:
		changed := f.trouble != gone
		f.trouble = gone
		return changed
	case err == nil && rev <= f.last:
		f.behind, f.heard = time.Time{}, began
		changed := f.trouble != nil
		f.trouble = nil
		return changed
	case err == nil && f.behind.IsZero():
		f.behind = began
	case err == nil && !f.busy && time.Since(f.behind) > probeEach:
		f.behind = time.Time{}
		f.restart() // the watch hangs
	}
	if time.Since(f.heard) > staleAfter && f.trouble == nil {
		if err == nil {
			err = errors.New("the watch lags behind")
		}
		f.trouble = &storage.AwayError{Since: f.Fresh(), Err: err}
		if !f.busy {
			f.restart() // it may have missed much, see approach
		}
		return true
	}
	return false
}
