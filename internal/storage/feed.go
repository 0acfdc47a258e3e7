package storage

import "sync"

// A Feed keeps the latest batches of a database and wakes those who follow
// them. It never waits for a follower: one that falls too far behind is told
// to begin again from the whole contents.
//
// The methods may be called from several goroutines at once.
type Feed struct {
	mu   sync.Mutex
	ring []Batch       // guarded by mu; oldest first; ring[i+1] follows ring[i]
	from Rev           // guarded by mu; the state that ring[0] starts from
	last Rev           // guarded by mu; the state behind the newest batch
	size int           // how many batches are kept
	held int           // guarded by mu; bytes of the values in ring
	more chan struct{} // guarded by mu; closed at the next Publish
}

// maxHeld is how many bytes of values a Feed keeps at the most.
const maxHeld = 16 << 20

// NewFeed returns a Feed of a database that is at rev. It keeps size batches,
// fewer where their values are large.
func NewFeed(rev Rev, size int) *Feed {
	return &Feed{from: rev, last: rev, size: size, more: make(chan struct{})}
}

// Publish adds the batch that leads to b.Rev. Of a batch with Reset set only
// the revision is kept: whoever follows across it begins again. A batch that
// is not newer than the last one wakes the followers and adds nothing.
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
			f.ring[0] = Batch{} // the array lives on behind the slice
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

// Since returns the batches after rev, oldest first, and a channel that is
// closed when there may be more. It reports false where the feed does not go
// back to rev: the caller then begins again from the whole contents.
func (f *Feed) Since(rev Rev) (batches []Batch, ok bool, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rev >= f.last {
		return nil, true, f.more
	}
	if rev < f.from {
		return nil, false, f.more
	}
	i := len(f.ring)
	for i > 0 && f.ring[i-1].Rev > rev {
		i--
	}
	return append(batches, f.ring[i:]...), true, f.more
}
