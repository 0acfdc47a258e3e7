package filestore

import (
	"context"
	"iter"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// PollFile yields the name of a file that is only read, such as a schema,
// whenever it is time to read it: at once, 30 ms after its last event, and once
// a second, until ctx is done. It calls path each time, because the name may
// change; "" means that there is no file at present.
//
// The file need not have changed. It may be gone, or half saved.
func PollFile(ctx context.Context, path func() string) iter.Seq[string] {
	return func(yield func(string) bool) {
		w := &watcher{prev: "\x00"} // nothing is displaced here
		if events, err := fsnotify.NewWatcher(); err == nil {
			w.events = events
		}
		defer w.close()
		for ctx.Err() == nil {
			now := time.Now()
			if !now.Before(w.due) {
				name := path()
				w.concern(name)
				if !yield(name) {
					return
				}
				w.due, w.first = now.Add(pollEvery), time.Time{}
			}
			w.wait(ctx, nil)
		}
	}
}

// concern makes the file at path the one that is watched.
func (w *watcher) concern(path string) {
	w.names = map[string]bool{"..data": true}
	if path == "" {
		return
	}
	places := []string{filepath.Dir(path), path}
	w.names[filepath.Base(path)] = true
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		places = append(places, filepath.Dir(real), real)
		w.names[filepath.Base(real)] = true
	}
	w.follow(places)
}
