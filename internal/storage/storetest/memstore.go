package storetest

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A MemStore is a Store that keeps its contents in memory, for tests.
type MemStore struct {
	mu       sync.Mutex
	rev      storage.Rev                    // guarded by mu
	contents []storage.Collection           // guarded by mu
	idMember func(collection string) string // guarded by mu
	broken   error                          // guarded by mu
	feed     *storage.Feed
}

// NewMemStore returns a MemStore that holds the fields of database, which is
// a valid JSON object.
func NewMemStore(database jsontext.Value) *MemStore {
	m := &MemStore{rev: 1, feed: storage.NewFeed(1, 1024), idMember: func(string) string { return "id" }}
	m.read(database)
	return m
}

func (m *MemStore) read(database jsontext.Value) {
	var contents []storage.Collection
	for quoted, v := range rawjson.Members(database) {
		name := rawjson.Unquote(quoted)
		contents = append(contents, storage.NewCollection(name, v, m.idMember(name)))
	}
	m.contents = contents
}

// Edit replaces the contents, as an external edit of a file does, and ends what
// Break has begun.
func (m *MemStore) Edit(database jsontext.Value) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = nil
	m.read(database)
	m.publishReset()
}

func (m *MemStore) publishReset() {
	m.rev++
	m.feed.Publish(storage.Batch{Rev: m.rev, Reset: true})
}

// Break makes commits fail with err, and Watch yield it, until Break(nil).
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
	return m.loadLocked(), nil
}

func (m *MemStore) loadLocked() storage.Batch {
	return storage.Batch{Rev: m.rev, Reset: true, Contents: clone(m.contents)}
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
	b := storage.Batch{Rev: base + storage.Rev(len(updates))}
	for _, changes := range updates {
		b.Changes = append(b.Changes, changes...)
	}
	// Elements do not decide whether a change is refused, and there are many.
	trial := slices.Clone(m.contents)
	for i := range trial {
		trial[i].Elements = nil
	}
	for _, ch := range b.Changes {
		if err := apply(&trial, ch, m.idMember(ch.Collection)); err != nil {
			return 0, err
		}
	}
	for _, ch := range b.Changes {
		apply(&m.contents, ch, m.idMember(ch.Collection))
	}
	m.rev = b.Rev
	m.feed.Publish(b)
	return m.rev, nil
}

// KeyBy implements storage.Store.
func (m *MemStore) KeyBy(idMember func(collection string) string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idMember = idMember
	for _, c := range m.contents {
		keys := storage.NewKeys(idMember(c.Name))
		for i, e := range c.Elements {
			c.Elements[i].Key = keys.Next(e.Value)
		}
	}
	m.publishReset()
	return nil
}

// Watch implements storage.Store.
func (m *MemStore) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		var reported error
		for ctx.Err() == nil {
			batches, more, broken := m.since(after)
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

// since returns the batches after rev, or the whole contents.
func (m *MemStore) since(rev storage.Rev) (batches []storage.Batch, more <-chan struct{}, broken error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	batches, ok, more := m.feed.Since(rev)
	if !ok {
		batches = []storage.Batch{m.loadLocked()}
	}
	return batches, more, m.broken
}
