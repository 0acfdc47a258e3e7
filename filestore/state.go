package filestore

import (
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// A state is shared by a Store and the files of the store. Guarded by Store.mu.
type state struct {
	o    *Options
	env  *durable.Env
	feed *storage.Feed
	rev  storage.Rev // of the contents of the files

	incomplete bool // a commit to the folder is decided, and not in all files yet
	empty      bool // no file of the folder is there any more
}

// edited publishes contents not made by a commit of the store.
func (s *state) edited() {
	s.rev++
	s.feed.Publish(storage.Batch{Rev: s.rev, Reset: true})
}

// wake wakes the watchers, because a file can no longer be read, or can again.
func (s *state) wake() { s.feed.Publish(storage.Batch{Rev: s.rev}) }
