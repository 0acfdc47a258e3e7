package server

import (
	"context"
	"errors"
	"iter"
	"time"

	"pickup/internal/storage"
)

// Store returns s with its commits and reloads measured. The database is opened on
// the result.
func (m *Metrics) Store(s storage.Store) storage.Store {
	if shared, ok := s.(storage.SharedStore); ok {
		return observedShared{shared, observed{s, m}}
	}
	return observed{s, m}
}

// observedShared is a SharedStore with metrics.
type observedShared struct {
	storage.SharedStore
	observed observed
}

// Commit implements storage.Store.
func (o observedShared) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	return o.observed.Commit(ctx, base, updates...)
}

// Watch implements storage.Store.
func (o observedShared) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return o.observed.Watch(ctx, after)
}

// observed is a Store with metrics.
type observed struct {
	storage.Store
	metrics *Metrics
}

// Commit implements storage.Store.
func (o observed) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	start := time.Now()
	rev, err := o.Store.Commit(ctx, base, updates...)
	result := "ok"
	switch {
	case err == nil && len(updates) == 0:
		return rev, nil // it was no commit
	case errors.Is(err, storage.ErrConflict):
		result = "conflict"
	case err != nil:
		result = "error"
	default:
		n := 0
		for _, changes := range updates {
			n += len(changes)
		}
		o.metrics.changes.Observe(float64(n))
	}
	o.metrics.commits.WithLabelValues(result).Observe(time.Since(start).Seconds())
	return rev, err
}

// Watch implements storage.Store.
func (o observed) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		o.metrics.followers.Inc()
		defer o.metrics.followers.Dec()
		for b, err := range o.Store.Watch(ctx, after) {
			start := time.Now()
			more := yield(b, err)
			if b.Reset && err == nil { // own writes come as changes
				o.metrics.reloads.Observe(time.Since(start).Seconds())
			}
			if !more {
				return
			}
		}
	}
}
