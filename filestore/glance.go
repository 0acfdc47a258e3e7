package filestore

import (
	"context"
	"iter"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Glances yields whenever it is time to look at a file that is only read, such
// as a schema: at once, 30 ms after its last event, and once a second, until
// ctx is done. path is asked each time, because which file it is may change;
// the one that it named is what is yielded. "" is no file.
//
// That it is time says nothing: the file may be what it was, gone, or in the
// middle of being saved.
func Glances(ctx context.Context, path func() string) iter.Seq[string] {
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
