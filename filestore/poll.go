package filestore

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// PollFiles yields each time the files that paths names should be looked at: at
// once, 30 ms after the last event on one of them, and once a second, until ctx
// is done. It calls paths each time, because the names may change; empty names are
// ignored. A yield says nothing about the files: they may be unchanged, missing,
// or in the middle of a save.
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
				w.addFiles(paths())
				if !yield() {
					return
				}
				w.due, w.first = now.Add(pollEvery), time.Time{}
			}
			w.wait(ctx, nil)
		}
	}
}

// addFiles watches the files at paths, and the files that they link to.
func (w *watcher) addFiles(paths []string) {
	w.names = map[string]bool{"..data": true} // the link that Kubernetes swaps
	var places []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		real, _ := filepath.EvalSymlinks(path)
		for _, p := range []string{path, cmp.Or(real, path)} {
			places = append(places, filepath.Dir(p), p)
			w.names[filepath.Base(p)] = true
		}
	}
	w.add(places)
}
