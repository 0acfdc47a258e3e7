package database

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// idStats counts the kinds of ids in a collection and keeps the greatest number
// that was ever one.
type idStats struct {
	member  string // that carries the id
	numbers int
	strings int // that spell an integer
	others  int
	high    int64 // the greatest integer of fewer than 19 digits
}

// integers returns the number of ids that new integers would be like.
func (c *idStats) integers() int { return c.numbers + c.strings }

// count adds by, 1 or -1, to the counter for r's id.
func (c *idStats) count(r *Record, by int) {
	*c.kind(r) += by
	if by > 0 {
		c.sees(r.ID)
	}
}

// sees notes an id that is in use.
func (c *idStats) sees(id string) {
	if rawjson.IsIndex(id) && len(id) < 19 { // nobody counts further
		n, _ := strconv.ParseInt(id, 10, 64)
		c.high = max(c.high, n)
	}
}

// join adds what o has counted of other records.
func (c *idStats) join(o idStats) {
	c.numbers += o.numbers
	c.strings += o.strings
	c.others += o.others
	c.inherit(o)
}

// inherit adds the greatest number of earlier ids.
func (c *idStats) inherit(old idStats) { c.high = max(c.high, old.high) }

// kind returns the counter for r's id, a new one if r has no usable id.
func (c *idStats) kind(r *Record) *int {
	if storage.IsPositionKey(r.ID) {
		return new(int)
	}
	switch v, _ := rawjson.Member(r.Value, c.member); {
	case v.Kind() != '"':
		return &c.numbers
	case integer(r.ID):
		return &c.strings
	}
	return &c.others
}

// next returns a new id of a kind as JSON text. taken reports whether a record has an
// id; random ones come from the source.
func (c *idStats) next(kind schema.IDKind, taken func(id string) bool, from *source) string {
	another, n := from.uuid, c.high
	switch kind {
	case schema.NumberIDs, schema.TextIDs:
		another = func() string {
			n++
			return strconv.FormatInt(n, 10)
		}
	case schema.ShortIDs:
		another = from.shortID
	}
	id := another()
	for taken(id) {
		id = another()
	}
	if kind == schema.NumberIDs {
		return id
	}
	return `"` + id + `"`
}

// spelled returns an id that a client has chosen as JSON text: as a number if new ids of
// that kind are numbers.
func spelled(kind schema.IDKind, id string) string {
	if integer(id) && kind == schema.NumberIDs {
		return id
	}
	return string(rawjson.AppendQuote(nil, id))
}

// integer reports whether s is an integer without leading zeros.
func integer(s string) bool { return rawjson.IsIndex(strings.TrimPrefix(s, "-")) }

// A source gives the times and the random ids of a database.
type source struct {
	start, began time.Time // of the clock; zero: the clock of the system
	seed         *uint64   // nil: ids are random

	mu     sync.Mutex
	random io.Reader // guarded by mu
	last   int64     // guarded by mu; the time in the latest UUID of a given clock, in 4,096ths of a millisecond
}

// newSource returns a source whose clock begins at start, see Options.
func newSource(start time.Time, seed *uint64) *source {
	s := &source{start: start, seed: seed, random: rand.Reader}
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

// fork returns a source with the same clock. Ids made from a seed start over.
func (s *source) fork() *source {
	f := newSource(time.Time{}, s.seed)
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
// the time of the clock, with a fraction of the millisecond (section 6.2, method 3) so that
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
	io.ReadFull(s.random, b) // neither source fails
	s.mu.Unlock()
	for i := range b {
		b[i] = all[b[i]%32]
	}
	if rawjson.IsIndex(string(b[:1])) {
		b[0] = letters[b[0]-'0'] // not quite uniform, but fast
	}
	return string(b)
}
