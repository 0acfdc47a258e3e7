package filestore

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// PollFiles yields each time the files that paths names should be looked at: at
// once, 30 ms after the last event on one of them, and once a second, until ctx
// is done. The files are only read, as a schema is. PollFiles calls paths each
// time, because the names may change; empty names are ignored.
//
// A yield says nothing about the files: they may be unchanged, missing, or in
// the middle of a save.
func PollFiles(ctx context.Context, paths func() []string) func(yield func() bool) {
	return func(yield func() bool) {
		w := &watcher{prev: "\x00"} // nothing is displaced here
		if events, err := fsnotify.NewWatcher(); err == nil {
			w.events = events
		}
		defer w.close()
		for ctx.Err() == nil {
			now := time.Now()
			if !now.Before(w.due) {
				w.followFiles(paths())
				if !yield() {
					return
				}
				w.due, w.first = now.Add(pollEvery), time.Time{}
			}
			w.wait(ctx, nil)
		}
	}
}

// followFiles makes w watch the files at paths, and the files that they link to.
func (w *watcher) followFiles(paths []string) {
	w.names = map[string]bool{"..data": true} // the link that Kubernetes swaps
	var places []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		places = append(places, filepath.Dir(path), path)
		w.names[filepath.Base(path)] = true
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			places = append(places, filepath.Dir(real), real)
			w.names[filepath.Base(real)] = true
		}
	}
	w.follow(places)
}
