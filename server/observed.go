package server

import (
	"context"
	"errors"
	"iter"
	"time"

	"pickup/internal/store"
)

// Store returns s with its commits and reloads counted. It is what the database
// is opened on.
func (m *Metrics) Store(s store.Store) store.Store {
	o := observed{s, m}
	if k, ok := s.(store.KeyedStore); ok {
		return keyed{o, k}
	}
	return o
}

// keyed is an observed store that takes its ids from the member it is told.
type keyed struct {
	observed
	store store.KeyedStore
}

// KeyBy is store.KeyedStore's.
func (k keyed) KeyBy(idMember func(collection string) string) { k.store.KeyBy(idMember) }

// observed is a Store that is looked at.
type observed struct {
	store.Store
	metrics *Metrics
}

// Commit is store.Store's.
func (o observed) Commit(ctx context.Context, base store.Rev, changes []store.Change) (store.Rev, error) {
	start := time.Now()
	rev, err := o.Store.Commit(ctx, base, changes)
	result := "ok"
	switch {
	case errors.Is(err, store.ErrConflict):
		result = "conflict"
	case err != nil:
		result = "error"
	default:
		o.metrics.changes.Observe(float64(len(changes)))
	}
	o.metrics.commits.WithLabelValues(result).Observe(time.Since(start).Seconds())
	return rev, err
}

// Watch is store.Store's.
func (o observed) Watch(ctx context.Context, after store.Rev) iter.Seq2[store.Batch, error] {
	return func(yield func(store.Batch, error) bool) {
		o.metrics.followers.Inc()
		defer o.metrics.followers.Dec()
		for b, err := range o.Store.Watch(ctx, after) {
			start := time.Now()
			more := yield(b, err)
			if b.Reset && err == nil { // what we write ourselves comes as changes
				o.metrics.reloads.Observe(time.Since(start).Seconds())
			}
			if !more {
				return
			}
		}
	}
}
