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

// A clock gives the times and the random ids of a database.
type clock struct {
	start time.Time // the first time of the clock; zero selects the clock of the system
	began time.Time // when the clock was at start
	seed  *uint64   // nil selects random ids

	mu     sync.Mutex
	random io.Reader // guarded by mu
	last   int64     // guarded by mu; the time in the latest UUID of a given clock, in 4,096ths of a millisecond
}

// newClock returns a clock that starts at start, see Options.
func newClock(start time.Time, seed *uint64) *clock {
	c := &clock{start: start, seed: seed, random: rand.Reader}
	if !c.start.IsZero() {
		c.began = time.Now()
	}
	if c.seed != nil {
		var seed [32]byte
		binary.BigEndian.PutUint64(seed[:], *c.seed)
		c.random = mathrand.NewChaCha8(seed)
	}
	return c
}

// fork returns a clock with the same time. Ids made from a seed start over.
func (c *clock) fork() *clock {
	f := newClock(c.start, c.seed)
	f.began = c.began
	return f
}

// now returns the time.
func (c *clock) now() time.Time {
	if c.start.IsZero() {
		return time.Now()
	}
	return c.start.Add(time.Since(c.began))
}

// uuid returns a UUID of version 7 (RFC 9562, section 5.7). If c has a start, the UUID has the
// time of the clock, with a fraction of the millisecond (section 6.2, method 3) so that the
// ids of a clock ascend.
func (c *clock) uuid() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := uuid.Must(uuid.NewV7FromReader(c.random)) // neither reader fails
	if c.start.IsZero() {
		return id.String()
	}
	at := c.now()
	if c.seed != nil {
		at = c.start // the time that has passed differs
	}
	c.last = max(c.last+1, at.UnixMilli()<<12|int64(at.Nanosecond())%1e6*4096/1e6)
	binary.BigEndian.PutUint64(id[:], uint64(c.last>>12<<16|0x7000|c.last&0xfff))
	return id.String()
}

// shortID returns a random id without letters that look like digits. The id starts with a
// letter, so nobody mistakes the id for a number.
func (c *clock) shortID() string {
	const letters, all = "abcdefghjkmnpqrstvwxyz", "abcdefghjkmnpqrstvwxyz0123456789"
	b := make([]byte, 6)
	c.mu.Lock()
	io.ReadFull(c.random, b) // neither reader fails
	c.mu.Unlock()
	for i := range b {
		b[i] = all[b[i]%32]
	}
	if rawjson.IsIndex(string(b[:1])) {
		b[0] = letters[b[0]-'0'] // not quite uniform, but fast
	}
	return string(b)
}
