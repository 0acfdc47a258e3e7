package database

import (
	"context"
	"iter"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A MemStore is a Store that forgets: what it holds is gone with it.
type MemStore struct {
	mu   sync.Mutex
	now  *Snapshot // guarded by mu
	feed *storage.Feed
}

// NewMemStore returns a MemStore that holds the members of database, which is
// a valid JSON object.
func NewMemStore(database jsontext.Value) *MemStore {
	b := storage.Batch{Rev: 1, Reset: true}
	for name, v := range rawjson.Members(database) {
		b.Contents = append(b.Contents, whole(rawjson.Unquote(name), v, conventions{}).contents())
	}
	return &MemStore{now: load(b, nil, conventions{}), feed: storage.NewFeed(1, feedBatches)}
}

// Load is Store's.
func (m *MemStore) Load(context.Context) (storage.Batch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.Contents(), nil
}

// KeyBy is KeyedStore's.
func (m *MemStore) KeyBy(member func(collection string) string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := storage.Batch{Rev: m.now.rev + 1, Reset: true}
	for _, c := range m.now.list {
		if c.kind == storage.Array {
			c = whole(c.name, c.appendJSON(nil), conventions{fixed: member})
		}
		b.Contents = append(b.Contents, c.contents())
	}
	m.now = load(b, nil, conventions{fixed: member})
	m.feed.Publish(storage.Batch{Rev: b.Rev, Reset: true})
}

// Commit is Store's.
func (m *MemStore) Commit(_ context.Context, base storage.Rev, changes []storage.Change) (storage.Rev, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if base != m.now.rev {
		return 0, storage.ErrConflict
	}
	b := storage.Batch{Rev: base + 1, Changes: changes}
	next, err := m.now.next(b)
	if err != nil {
		return 0, err
	}
	m.now = next
	m.feed.Publish(b)
	return b.Rev, nil
}

// Watch is Store's.
func (m *MemStore) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return m.feed.Follow(ctx, after, func() (storage.Batch, error) { return m.Load(ctx) })
}
