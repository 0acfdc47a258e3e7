package filestore

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// Watch yields the batches after rev: commits as changes, hand edits as the whole contents. Watch
// follows the file in the goroutine of the iteration. An edit is loaded 30 ms after the last event,
// or at the next poll if the file system sends no events.
//
// While the file cannot be read (broken, or missing for a second) Watch yields one error for each
// state of the file. Watch ends when ctx is done or the store is closed.
func (s *Store) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		w := s.newWatcher()
		defer w.close()
		var reported error
		for ctx.Err() == nil {
			if now := time.Now(); !now.Before(w.due) {
				w.add(s.places())
				if !s.work(w) {
					return
				}
				w.due = now.Add(w.poll)
				w.first = time.Time{}
			}
			batches, more, err := s.after(after)
			if err == nil && reported != nil && len(batches) == 0 {
				batches = []storage.Batch{{Rev: after}}
			}
			for _, b := range batches {
				after = b.Rev
				reported = err
				if ctx.Err() != nil || !yield(b, err) {
					return
				}
			}
			if err != nil && err != reported {
				reported = err
				if ctx.Err() != nil || !yield(storage.Batch{Rev: after}, err) {
					return
				}
			}
			for w.receive(ctx.Done(), more, time.After(time.Until(w.due))) {
				// until a poll is due, or the file is quiet again
			}
		}
	}
}

// after returns the batches after rev, why the file cannot be read, and a channel to be closed when
// there may be more batches.
func (s *Store) after(rev storage.Rev) (batches []storage.Batch, more <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batches, ok, more := s.feed.Since(rev)
	if s.closed {
		batches = nil
	} else if !ok {
		batches = []storage.Batch{s.batchLocked()}
	}
	for _, f := range s.files {
		if err = f.reading.reported; err != nil {
			break
		}
	}
	return batches, more, err
}

// work does the work due between commits, and sets the time to the
// next poll of w. It reports false when the store is closed.
func (s *Store) work(w *watcher) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	w.poll = pollEvery
	if w.events == nil {
		w.poll = pollOnly
	}
	if s.scan(context.Background()) != nil {
		return true
	}
	for _, f := range s.files {
		w.poll = min(w.poll, f.work())
	}
	return true
}

// places returns the paths to watch, to see each way of saving: the directory of the given path, the
// real directory, and the file itself if the file may be a mount point, because a directory has no
// events for a mount point.
func (s *Store) places() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var places []string
	if s.folder != nil {
		places = append(places, s.path, s.folder.Dir())
	}
	for _, f := range s.files {
		places = append(places, filepath.Dir(f.Path), f.Dir())
		if !f.CanWrite() || f.Mode() == durable.InPlace {
			places = append(places, f.Real)
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// A watcher waits for the moments at which to look at the file.
type watcher struct {
	events *fsnotify.Watcher // nil: the system has none
	names  []string          // a base name with any of these matters
	poll   time.Duration     // from one look to the next, without an event
	due    time.Time         // when to look
	first  time.Time         // the first event since the last look
}

func (s *Store) newWatcher() *watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{names: []string{"..data"}} // how Kubernetes swaps the files of a ConfigMap
	if s.folder == nil {
		w.names = append(w.names, filepath.Base(s.files[0].Path), filepath.Base(s.files[0].Real))
	} else {
		w.names = append(w.names, ".json")
	}
	events, err := s.env.Sys.Watch()
	if err != nil {
		s.env.Log.Warn("cannot watch "+s.path+" for events, polling it four times a second instead", "cause", err)
		return w
	}
	w.events = events
	return w
}

func (w *watcher) close() {
	if events := w.events; events != nil {
		w.during(func() { events.Close() })
	}
}

// add watches places. It does so again where a watch was lost: a watch ends with
// the inode of its file or directory.
func (w *watcher) add(places []string) {
	events := w.events
	if events == nil {
		return
	}
	w.during(func() {
		for _, p := range places {
			events.Add(p) // after an error the poll finds the edit
		}
	})
}

// during receives events while change changes the fsnotify watcher. That sends
// errors with a lock held, and change needs the lock: without a receiver the two would
// deadlock.
func (w *watcher) during(change func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		change()
	}()
	for w.receive(done, nil, nil) {
	}
}

// receive handles one event. It reports false if another channel is ready.
func (w *watcher) receive(done, more <-chan struct{}, due <-chan time.Time) bool {
	var events chan fsnotify.Event
	var errs chan error
	if w.events != nil {
		events = w.events.Events
		errs = w.events.Errors
	}
	select {
	case <-done:
		return false
	case <-more:
		return false
	case <-due:
		return false
	case <-errs: // events were lost
		w.due = time.Time{}
	case e, ok := <-events:
		if !ok { // the watcher is closed
			w.events = nil
			w.due = time.Time{}
			break
		}
		matters := func(name string) bool { return strings.Contains(filepath.Base(e.Name), name) }
		if slices.ContainsFunc(w.names, matters) {
			now := time.Now()
			if w.first.IsZero() {
				w.first = now
			}
			w.due = now.Add(min(quietAfter, w.first.Add(quietAtMost).Sub(now)))
		}
	}
	return true
}
