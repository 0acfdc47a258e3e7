package database

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"pickup/internal/rawjson"
)

// A source gives the times and the random ids of a database.
type source struct {
	start, began time.Time // of the clock; zero: it is that of the system
	seed         *uint64   // nil: ids are random

	mu     sync.Mutex
	random io.Reader // guarded by mu
	last   int64     // guarded by mu; the time in the latest UUID of a given clock, in 4,096ths of a millisecond
}

func newSource(o Options) *source {
	s := &source{start: o.Start, seed: o.Seed, random: rand.Reader}
	if !s.start.IsZero() {
		s.began = time.Now()
	}
	if s.seed != nil {
		var seed [32]byte
		binary.BigEndian.PutUint64(seed[:], *s.seed)
		s.random = mathrand.NewChaCha8(seed)
	}
	return s
}

// fork returns a source with the same clock. Ids of a seed begin anew.
func (s *source) fork() *source {
	f := newSource(Options{Seed: s.seed})
	f.start, f.began = s.start, s.began
	return f
}

// copy returns a source that gives the ids that s would give next.
func (s *source) copy() *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &source{start: s.start, began: s.began, seed: s.seed, random: s.random, last: s.last}
	if seeded, ok := s.random.(*mathrand.ChaCha8); ok {
		own := *seeded
		c.random = &own
	}
	return c
}

// now returns the time.
func (s *source) now() time.Time {
	if s.start.IsZero() {
		return time.Now()
	}
	return s.start.Add(time.Since(s.began))
}

// uuid returns a UUID of version 7 (RFC 9562, section 5.7). With a given clock, its time is
// that of the clock, with a fraction of the millisecond (section 6.2, method 3) so that
// the ids of a source ascend.
func (s *source) uuid() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := uuid.Must(uuid.NewV7FromReader(s.random)) // neither source fails
	if s.start.IsZero() {
		return id.String()
	}
	at := s.now()
	if s.seed != nil {
		at = s.start // the time that has passed differs
	}
	s.last = max(s.last+1, at.UnixMilli()<<12|int64(at.Nanosecond())%1e6*4096/1e6)
	binary.BigEndian.PutUint64(id[:], uint64(s.last>>12<<16|0x7000|s.last&0xfff))
	return id.String()
}

// shortID returns a random id without letters that look like digits. It begins with
// a letter, so it cannot be mistaken for a number.
func (s *source) shortID() string {
	const letters, all = "abcdefghjkmnpqrstvwxyz", "abcdefghjkmnpqrstvwxyz0123456789"
	b := make([]byte, 6)
	s.mu.Lock()
	s.read(b)
	s.mu.Unlock()
	for i := range b {
		b[i] = all[b[i]%32]
	}
	if rawjson.IsIndex(string(b[:1])) {
		b[0] = letters[b[0]-'0'] // not quite uniform, but fast
	}
	return string(b)
}

// read fills b.
func (s *source) read(b []byte) {
	if _, err := io.ReadFull(s.random, b); err != nil {
		panic(err) // neither source fails
	}
}
