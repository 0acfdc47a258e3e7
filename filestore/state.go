package filestore

import (
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// A state is what a Store and its files share. Store.mu guards it.
type state struct {
	o    *Options
	env  *durable.Env
	feed *storage.Feed
	rev  storage.Rev // of the contents of the files

	incomplete bool // a commit to the folder is decided, and not in all files yet
	empty      bool // no file of the folder is there any more
}

// edited publishes contents that no commit of the store has made.
func (s *state) edited() {
	s.rev++
	s.feed.Publish(storage.Batch{Rev: s.rev, Reset: true})
}

// wake wakes the watchers, because a file can no longer be read, or can again.
func (s *state) wake() { s.feed.Publish(storage.Batch{Rev: s.rev}) }
