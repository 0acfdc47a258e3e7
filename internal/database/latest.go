package database

import (
	"context"
	"sync"

	"pickup/internal/storage"
)

// A latest asks a store for its latest revision, once for all who wait. The zero
// value is ready for use.
type latest struct {
	asking sync.Mutex // held during a call of Latest

	mu   sync.Mutex
	next *answer // guarded by mu; of the call that has not begun, nil if nobody waits for one
}

// An answer is the result of one call of Latest.
type answer struct {
	done chan struct{} // closed after the fields below are set
	rev  storage.Rev
	err  error
}

// ask returns the result of a call of Latest that begins after ask does. The call does
// not end with ctx, because others wait for it too.
func (l *latest) ask(ctx context.Context, store storage.SharedStore) (storage.Rev, error) {
	l.mu.Lock()
	a, first := l.next, l.next == nil
	if first {
		a = &answer{done: make(chan struct{})}
		l.next = a
	}
	l.mu.Unlock()
	if first {
		go l.answer(context.WithoutCancel(ctx), store, a)
	}
	select {
	case <-a.done:
		return a.rev, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// answer calls Latest for a.
func (l *latest) answer(ctx context.Context, store storage.SharedStore, a *answer) {
	l.asking.Lock()
	defer l.asking.Unlock()
	l.mu.Lock()
	l.next = nil
	l.mu.Unlock()
	a.rev, a.err = store.Latest(ctx)
	close(a.done)
}
