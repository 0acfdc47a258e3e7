package storage

import (
	"slices"
	"sync"
)

// A Feed retains the latest batches of a database and wakes the followers. A Feed never
// waits for a follower: a follower that lags too far must load the whole contents.
// Several goroutines may call the methods at once.
type Feed struct {
	size int // maximum number of batches

	mu    sync.Mutex
	ring  []Batch       // guarded by mu; oldest first; ring[i+1] follows ring[i]
	from  Rev           // guarded by mu; the state before ring[0]
	last  Rev           // guarded by mu; the state after the newest batch
	bytes int           // guarded by mu; size of the values in ring
	more  chan struct{} // guarded by mu; closed at the next Publish
}

// maxBytes is the maximum size of the values that a Feed retains.
const maxBytes = 16 << 20

// NewFeed returns a Feed of a database at rev. The Feed retains size batches, or fewer if
// the values are large.
func NewFeed(rev Rev, size int) *Feed {
	return &Feed{from: rev, last: rev, size: size, more: make(chan struct{})}
}

// Publish adds the batch that leads to b.Rev. A batch with Reset set drops all earlier
// batches. A batch that is not newer than the last batch only wakes the followers.
func (f *Feed) Publish(b Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.more)
	f.more = make(chan struct{})
	if b.Rev <= f.last {
		return
	}
	f.last = b.Rev
	if b.Reset {
		f.ring = nil
		f.from = b.Rev
		f.bytes = 0
		return
	}
	f.ring = append(f.ring, b)
	f.bytes += bytesOf(b)
	for len(f.ring) > f.size || f.bytes > maxBytes {
		f.from = f.ring[0].Rev
		f.bytes -= bytesOf(f.ring[0])
		f.ring[0] = Batch{} // free the values
		f.ring = f.ring[1:]
	}
}

// bytesOf returns the size of the values of b.
func bytesOf(b Batch) (n int) {
	for _, ch := range b.Changes {
		n += len(ch.Value)
	}
	return n
}

// Since returns the batches after rev, oldest first, and a channel that is closed
// when there may be more. It reports false if the feed does not reach back to rev: the
// caller must load the whole contents.
func (f *Feed) Since(rev Rev) (batches []Batch, ok bool, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rev >= f.last || rev < f.from {
		return nil, rev >= f.last, f.more
	}
	i := slices.IndexFunc(f.ring, func(b Batch) bool { return b.Rev > rev })
	return slices.Clone(f.ring[i:]), true, f.more
}
