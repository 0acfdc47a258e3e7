package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// Bounds of what is remembered of credentials that were right.
const (
	verifiedFor = 5 * time.Minute
	maxVerified = 1024
)

// A mark stands for credentials: a hash of them behind a key that only this
// process has. Neither a password nor a hash that could be tried out is kept.
// (Marks are shown to nobody, so none can be made longer, against which an HMAC
// would guard.)
type mark [sha256.Size]byte

// A memory remembers marks of credentials that were right, so that the price
// of a hash is paid once and not per request. Wrong ones are not remembered.
type memory struct {
	key [32]byte

	mu    sync.RWMutex
	until map[mark]time.Time // guarded by mu
}

func newMemory() *memory {
	m := &memory{until: make(map[mark]time.Time)}
	rand.Read(m.key[:]) // never fails
	return m
}

// mark returns that of a user, which has no colon, and a password.
func (m *memory) mark(user, password string) mark {
	var room [256]byte // most fit, and cost no allocation
	b := append(room[:0], m.key[:]...)
	b = append(append(append(b, user...), ':'), password...)
	return sha256.Sum256(b)
}

// knows reports whether the mark was remembered less than five minutes ago.
func (m *memory) knows(k mark) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return time.Now().Before(m.until[k])
}

func (m *memory) remember(k mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.until) >= maxVerified {
		m.makeRoomLocked()
	}
	m.until[k] = time.Now().Add(verifiedFor)
}

// makeRoomLocked forgets what is over, and if nothing is the oldest.
func (m *memory) makeRoomLocked() {
	now, first, oldest := time.Now(), mark{}, time.Time{}
	for k, t := range m.until {
		switch {
		case !now.Before(t):
			delete(m.until, k)
		case oldest.IsZero() || t.Before(oldest):
			first, oldest = k, t
		}
	}
	if len(m.until) >= maxVerified {
		delete(m.until, first)
	}
}
