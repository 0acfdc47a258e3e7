package storage

import (
	"slices"
	"sync"
)

// A Feed keeps the latest batches of a database and wakes its followers. It never
// waits for a follower: one that lags too far has to load the whole contents.
// Several goroutines may call its methods at once.
type Feed struct {
	mu   sync.Mutex
	ring []Batch       // guarded by mu; oldest first; ring[i+1] follows ring[i]
	from Rev           // guarded by mu; the state that ring[0] starts from
	last Rev           // guarded by mu; the state after the newest batch
	size int           // how many batches are kept
	held int           // guarded by mu; bytes of the values in ring
	more chan struct{} // guarded by mu; closed at the next Publish
}

// maxHeld is the maximum number of bytes of values that a Feed keeps.
const maxHeld = 16 << 20

// NewFeed returns a Feed of a database at rev. It keeps size batches, or fewer if
// their values are large.
func NewFeed(rev Rev, size int) *Feed {
	return &Feed{from: rev, last: rev, size: size, more: make(chan struct{})}
}

// Publish adds the batch that leads to b.Rev. A batch with Reset set drops all earlier ones. A
// batch that is not newer than the last one only wakes the followers.
func (f *Feed) Publish(b Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.more)
	f.more = make(chan struct{})
	if b.Rev <= f.last {
		return
	}
	if b.Reset {
		f.ring, f.from, f.held = nil, b.Rev, 0
	} else {
		f.ring = append(f.ring, b)
		f.held += weight(b)
		for len(f.ring) > f.size || f.held > maxHeld {
			f.from = f.ring[0].Rev
			f.held -= weight(f.ring[0])
			f.ring[0] = Batch{} // the array keeps it alive
			f.ring = f.ring[1:]
		}
	}
	f.last = b.Rev
}

func weight(b Batch) (n int) {
	for _, ch := range b.Changes {
		n += len(ch.Value)
	}
	return n
}

// Since returns the batches after rev, oldest first, and a channel that is closed
// when there may be more. It reports false if the feed does not go back to rev: the
// caller has to load the whole contents.
func (f *Feed) Since(rev Rev) (batches []Batch, ok bool, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rev >= f.last || rev < f.from {
		return nil, rev >= f.last, f.more
	}
	i := slices.IndexFunc(f.ring, func(b Batch) bool { return b.Rev > rev })
	return slices.Clone(f.ring[i:]), true, f.more
}
