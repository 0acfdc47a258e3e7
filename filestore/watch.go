package filestore

import (
	"context"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"pickup/internal/storage"
)

// Watch yields the batches after rev: commits as their changes, edits by hand
// as the whole contents. It follows the file in the goroutine that iterates:
// an edit is loaded 30 ms after its last event, or at the next poll where the
// file system tells of no events.
//
// While the file cannot be read (broken, or gone for a second) it yields one
// error for each state of it. It ends when ctx is done or the store is closed.
func (s *Store) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		w := s.newWatcher()
		defer w.close()
		var told error
		for ctx.Err() == nil {
			if now := time.Now(); !now.Before(w.due) {
				w.follow(s.places())
				if !s.look(w) {
					return
				}
				w.due, w.first = now.Add(w.poll), time.Time{}
			}
			batches, more, trouble := s.after(after)
			if trouble == nil && told != nil && len(batches) == 0 {
				batches = []storage.Batch{{Rev: after}}
			}
			for _, b := range batches {
				after, told = b.Rev, nil
				if ctx.Err() != nil || !yield(b, nil) {
					return
				}
			}
			if trouble != nil && trouble != told {
				told = trouble
				if ctx.Err() != nil || !yield(storage.Batch{Rev: after}, trouble) {
					return
				}
			}
			w.wait(ctx, more)
		}
	}
}

// after returns what a watcher at rev has to be told, and a channel that is
// closed when there may be more.
func (s *Store) after(rev storage.Rev) (batches []storage.Batch, more <-chan struct{}, trouble error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batches, ok, more := s.feed.Since(rev)
	switch {
	case s.closed:
		return nil, more, s.reading.reported
	case !ok:
		batches = []storage.Batch{s.batchLocked()}
	}
	return batches, more, s.reading.reported
}

// look does what is to be done while nobody commits, and tells w how soon to
// come back. It reports false when the store is closed.
func (s *Store) look(w *watcher) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.collectLateEdits()
	err := s.lookLocked()
	s.displaced.removeOld(false)
	if err == nil {
		s.syncAgainLocked() // the next try is the next poll
	}
	s.inPlace.syncJournal()
	w.poll = pollEvery
	switch {
	case err != nil && s.reading.reported == nil:
		w.poll = retryAfter
	case s.displaced.mayChange() || w.events == nil:
		w.poll = pollOnly
	}
	return true
}

// places returns what has to be watched to see each way of saving: the folder
// of the path as it was given and the real folder, and the file itself where
// it may be a mount point, for a folder tells nothing of a file that is mounted
// into it.
func (s *Store) places() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	places := []string{filepath.Dir(s.path), s.dir()}
	if !s.canWrite() || s.isInPlace() {
		places = append(places, s.real)
	}
	return places
}

// A watcher waits for the moments at which to look at the file.
type watcher struct {
	events *fsnotify.Watcher // nil: there are none to be had
	names  map[string]bool   // base names that concern us
	prev   string            // how the names of displaced files begin
	poll   time.Duration     // from one look to the next, without an event
	due    time.Time         // when to look
	first  time.Time         // the first event since the last look
}

func (s *Store) newWatcher() *watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{prev: filepath.Base(s.beside(".prev-")), names: map[string]bool{
		filepath.Base(s.path): true,
		filepath.Base(s.real): true,
		"..data":              true, // how Kubernetes swaps the files of a ConfigMap
	}}
	events, err := s.o.sys.Watch()
	if err != nil {
		s.o.Log.Warn("no file events to be had, looking at "+s.path+" four times a second instead", "cause", err)
		return w
	}
	w.events = events
	return w
}

func (w *watcher) close() {
	if w.events != nil {
		w.attend(func() { w.events.Close() })
	}
}

// follow watches places, again where a watch was lost: that of a file goes
// with its inode, that of a folder with the folder.
func (w *watcher) follow(places []string) {
	if w.events == nil {
		return
	}
	w.attend(func() {
		for _, p := range places {
			w.events.Add(p) // what cannot be watched is polled
		}
	})
}

// attend receives what the watcher has to tell while do, which changes it, is
// under way. The watcher tells of an error with the lock held that do needs:
// alone, the two would wait for each other.
func (w *watcher) attend(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	events, errs := w.events.Events, w.events.Errors
	for {
		select {
		case <-done:
			return
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.touched(filepath.Base(e.Name), time.Now())
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			w.due = time.Time{}
		}
	}
}

// wait returns when it is time to look: the file was touched and is quiet
// again, or a poll is due. It returns earlier when more is closed or ctx is
// done.
func (w *watcher) wait(ctx context.Context, more <-chan struct{}) {
	var events chan fsnotify.Event
	var errs chan error
	if w.events != nil {
		events, errs = w.events.Events, w.events.Errors
	}
	for {
		timer := time.NewTimer(time.Until(w.due))
		select {
		case <-ctx.Done():
			return
		case <-more:
			return
		case <-timer.C:
			return
		case _, ok := <-errs: // events were lost
			if !ok {
				w.events, w.due = nil, time.Time{}
				return
			}
			w.due = time.Time{}
			return
		case e, ok := <-events:
			if !ok { // no more to come
				w.events, w.due = nil, time.Time{}
				return
			}
			w.touched(filepath.Base(e.Name), time.Now())
		}
	}
}

// touched puts the look off until the file called name is quiet, or brings it
// forward to then.
func (w *watcher) touched(name string, now time.Time) {
	if !w.names[name] && !strings.HasPrefix(name, w.prev) {
		return
	}
	if w.first.IsZero() {
		w.first = now
	}
	w.due = now.Add(quietAfter)
	if latest := w.first.Add(quietAtMost); latest.Before(w.due) {
		w.due = latest
	}
}
