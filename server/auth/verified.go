package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// Bounds of the cache of verified credentials.
const (
	verifiedFor = 5 * time.Minute
	maxVerified = 1024
)

// A mark is a hash of credentials, keyed with random bytes of this process:
// neither a password nor a hash that could be attacked offline is kept. (Marks
// never leave the process, so the length extension that HMAC guards against is
// not a concern.)
type mark [sha256.Size]byte

// A verifiedCache holds the marks of credentials that were right, so that a
// password is not hashed for each request. Wrong ones are not kept.
type verifiedCache struct {
	key   [32]byte
	marks *ttlcache.Cache[mark, struct{}]
}

func newVerifiedCache() *verifiedCache {
	c := &verifiedCache{marks: ttlcache.New(
		ttlcache.WithTTL[mark, struct{}](verifiedFor), ttlcache.WithCapacity[mark, struct{}](maxVerified))}
	rand.Read(c.key[:]) // never fails
	return c
}

// mark returns the mark of a user, whose name has no colon, and a password.
func (c *verifiedCache) mark(user, password string) mark {
	var room [256]byte // spares most calls an allocation
	b := append(room[:0], c.key[:]...)
	b = append(append(append(b, user...), ':'), password...)
	return sha256.Sum256(b)
}

// has reports whether the mark was added less than five minutes ago.
func (c *verifiedCache) has(m mark) bool { return c.marks.Has(m) }

func (c *verifiedCache) add(m mark) { c.marks.Set(m, struct{}{}, ttlcache.DefaultTTL) }
