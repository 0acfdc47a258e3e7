package filestore

import (
	"context"
	"iter"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"pickup"
)

// Watch yields the batches after rev: commits as their changes, edits by hand
// as the whole contents. It follows the file in the goroutine that iterates:
// an edit is loaded 30 ms after its last event, or at the next poll where the
// file system tells of no events.
//
// While the file cannot be read (broken, or gone for a second) it yields one
// error for each state of it. It ends when ctx is done or the store is closed.
func (s *Store) Watch(ctx context.Context, after pickup.Rev) iter.Seq2[pickup.Batch, error] {
	return func(yield func(pickup.Batch, error) bool) {
		w := s.newWatcher()
		defer w.close()
		var told error
		for ctx.Err() == nil {
			w.follow(s.places())
			s.look(w)
			batches, ok, more := s.feed.Since(after)
			trouble, closed := s.state()
			if closed {
				return
			}
			if !ok {
				b := s.batch()
				batches = []pickup.Batch{b}
			}
			if trouble == nil && told != nil && len(batches) == 0 {
				batches = []pickup.Batch{{Rev: after}}
			}
			for _, b := range batches {
				after, told = b.Rev, nil
				if ctx.Err() != nil || !yield(b, nil) {
					return
				}
			}
			if trouble != nil && trouble != told {
				told = trouble
				if ctx.Err() != nil || !yield(pickup.Batch{Rev: after}, trouble) {
					return
				}
			}
			w.wait(ctx, more)
		}
	}
}

func (s *Store) look(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	w.hurry = s.lookLocked() != nil && s.o.now().Sub(s.unread.since) < graceRead
}

func (s *Store) batch() pickup.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batchLocked()
}

func (s *Store) state() (trouble error, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble, s.closed
}

// places returns the folder of the path as it was given, the real folder, and
// the file: what has to be watched to see each way of saving.
func (s *Store) places() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []string{filepath.Dir(s.path), s.dir(), s.real}
}

// A watcher waits for the moments at which to look at the file.
type watcher struct {
	events *fsnotify.Watcher // nil: there are none to be had
	names  map[string]bool   // base names that concern us
	hurry  bool              // the file was seen in the middle of a save
}

func (s *Store) newWatcher() *watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{names: map[string]bool{
		filepath.Base(s.path): true,
		filepath.Base(s.real): true,
		"..data":              true, // how Kubernetes swaps the files of a ConfigMap
	}}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		s.o.Log.Warn("no file events to be had, looking four times a second instead", "cause", err)
		return w
	}
	w.events = events
	return w
}

func (w *watcher) close() {
	if w.events != nil {
		w.events.Close()
	}
}

// follow watches places, again where a watch was lost: that of a file goes
// with its inode, that of a folder with the folder.
func (w *watcher) follow(places []string) {
	if w.events == nil {
		return
	}
	for _, p := range places {
		w.events.Add(p) // what cannot be watched is polled
	}
}

// wait returns when it is time to look: the file was touched and is quiet
// again, a poll is due, more is closed, or ctx is done.
func (w *watcher) wait(ctx context.Context, more <-chan struct{}) {
	poll := pollEvery
	var events chan fsnotify.Event
	var errs chan error
	if w.events != nil {
		events, errs = w.events.Events, w.events.Errors
	} else {
		poll = pollOnly
	}
	if w.hurry {
		poll = retryAfter
	}
	due := time.NewTimer(poll)
	defer due.Stop()
	var quiet <-chan time.Time
	var latest time.Time // when to look although it is not quiet
	for {
		select {
		case <-ctx.Done():
			return
		case <-more:
			return
		case <-due.C:
			return
		case <-quiet:
			return
		case <-errs: // events were lost
			return
		case e := <-events:
			if !w.names[filepath.Base(e.Name)] {
				continue
			}
			now := time.Now()
			if latest.IsZero() {
				latest = now.Add(quietAtMost)
			}
			quiet = time.After(min(quietAfter, latest.Sub(now)))
		}
	}
}
