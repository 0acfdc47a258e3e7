package storetest

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// A MemStore is a Store that keeps its contents in memory, for tests.
type MemStore struct {
	mu     sync.Mutex
	rev    storage.Rev // guarded by mu
	model  model       // guarded by mu
	broken error       // guarded by mu
	feed   *storage.Feed
}

// NewMemStore returns a MemStore that holds the members of database, which is
// a valid JSON object.
func NewMemStore(database jsontext.Value) *MemStore {
	m := &MemStore{rev: 1, feed: storage.NewFeed(1, 1024)}
	m.model.list = m.model.parse(database)
	return m
}

// Edit replaces the contents, as somebody who edits a file does. It mends what
// Break has broken.
func (m *MemStore) Edit(database jsontext.Value) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rev++
	m.model.list, m.broken = m.model.parse(database), nil
	m.feed.Publish(storage.Batch{Rev: m.rev, Reset: true})
}

// Break makes commits fail with err, and Watch yield it. nil mends the store.
func (m *MemStore) Break(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
	m.feed.Publish(storage.Batch{}) // wakes the followers
}

// Load implements storage.Store.
func (m *MemStore) Load(context.Context) (storage.Batch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return storage.Batch{Rev: m.rev, Reset: true, Contents: m.model.list}, nil
}

// Commit implements storage.Store.
func (m *MemStore) Commit(_ context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return 0, m.broken
	}
	if base != m.rev {
		return 0, storage.ErrConflict
	}
	next := m.model
	b := storage.Batch{Rev: base + storage.Rev(len(updates))}
	for _, changes := range updates {
		b.Changes = append(b.Changes, changes...)
	}
	for _, ch := range b.Changes {
		if err := next.change(ch); err != nil {
			return 0, err
		}
	}
	m.rev, m.model = b.Rev, next
	m.feed.Publish(b)
	return m.rev, nil
}

// KeyBy implements storage.Store.
func (m *MemStore) KeyBy(idMember func(collection string) string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.model.idMember = idMember
	m.model.list = slices.Clone(m.model.list)
	for i, c := range m.model.list {
		if c.Kind == storage.Array {
			values := make([]jsontext.Value, len(c.Elements))
			for j, e := range c.Elements {
				values[j] = e.Value
			}
			m.model.list[i].Elements = m.model.elements(c.Name, values)
		}
	}
	m.rev++
	m.feed.Publish(storage.Batch{Rev: m.rev, Reset: true})
	return nil
}

// Watch implements storage.Store.
func (m *MemStore) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		var reported error
		for ctx.Err() == nil {
			batches, more, broken := m.after(after)
			if reported != nil && broken == nil && len(batches) == 0 {
				batches = []storage.Batch{{Rev: after}}
			}
			for _, b := range batches {
				after, reported = b.Rev, nil
				if ctx.Err() != nil || !yield(b, nil) {
					return
				}
			}
			if broken != nil && broken != reported {
				reported = broken
				if !yield(storage.Batch{Rev: after}, broken) {
					return
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
			}
		}
	}
}

// after returns what a follower at rev has not seen.
func (m *MemStore) after(rev storage.Rev) (batches []storage.Batch, more <-chan struct{}, broken error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	batches, ok, more := m.feed.Since(rev)
	if !ok {
		batches = []storage.Batch{{Rev: m.rev, Reset: true, Contents: m.model.list}}
	}
	return batches, more, m.broken
}
