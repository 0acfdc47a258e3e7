package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/text/unicode/norm"
)

// A hash reports whether a password is the one that was hashed, in about the same
// time for every password.
type hash func(password string) bool

// Bounds of the cost of a hash. Above them each wrong password would mean
// seconds of work.
const (
	maxBcryptBytes = 72        // of a password; bcrypt ignores the rest
	maxBcryptCost  = 16        // about 4 s
	maxArgonKiB    = 256 << 10 // of memory
	maxArgonTime   = 16
)

// New hashes cost the minimum that OWASP's Password Storage Cheat Sheet recommends.
const bcryptCost = 10

var newArgon = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// parseHash parses the hash of an htpasswd line.
func parseHash(text string) (hash, error) {
	switch {
	case strings.HasPrefix(text, "$argon2id$"):
		return parseArgon(text)
	case strings.HasPrefix(text, "$2a$"), strings.HasPrefix(text, "$2b$"), strings.HasPrefix(text, "$2y$"):
		cost, err := bcrypt.Cost([]byte(text))
		switch {
		case err != nil || len(text) != 60 || strings.Trim(text[len("$2a$10$"):], bcryptDigits) != "":
			return nil, errors.New("the bcrypt hash is truncated or has an invalid character")
		case cost > maxBcryptCost:
			return nil, fmt.Errorf("the bcrypt cost %d is above the limit of %d", cost, maxBcryptCost)
		}
		return func(password string) bool {
			known := password[:min(len(password), maxBcryptBytes)] // the rest would be ignored
			return bcrypt.CompareHashAndPassword([]byte(text), []byte(known)) == nil && known == password
		}, nil
	}
	return nil, fmt.Errorf("%s is not accepted: use bcrypt ($2y$, $2b$, $2a$) or $argon2id$, as pickup passwd prints them", scheme(text))
}

// scheme names the kind of a hash. It returns no part of the text, which could be a password.
func scheme(text string) string {
	for prefix, name := range map[string]string{
		"$apr1$": "Apache's MD5", "$1$": "MD5", "{SHA}": "SHA-1", "{SSHA}": "SHA-1", "$5$": "SHA-256 crypt",
		"$6$": "SHA-512 crypt", "$y$": "yescrypt", "$2x$": "the faulty bcrypt $2x$", "$argon2i$": "argon2i", "$argon2d$": "argon2d",
	} {
		if strings.HasPrefix(text, prefix) {
			return name
		}
	}
	return "a password in plain text, or an unknown kind of hash,"
}

// bcryptDigits is the alphabet of bcrypt's Base64. A salt with another character
// would match no password, and be rejected faster than others.
const bcryptDigits = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// parseArgon parses an argon2id hash, version 19 (RFC 9106), in the PHC string
// format: $argon2id$v=19$m=19456,t=2,p=1$salt$hash, the last two in unpadded
// Base64. The argon2 package panics if t or p is 0, and has no limits.
func parseArgon(text string) (hash, error) {
	p, salt, key, err := argon2id.DecodeHash(text)
	switch {
	case err != nil, // or DecodeHash has ignored text after one of the numbers
		!strings.HasPrefix(text, fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, p.Memory, p.Iterations, p.Parallelism)):
		return nil, errors.New("expected $argon2id$v=19$m=…,t=…,p=…$salt$hash, with salt and hash in Base64 without padding")
	case p.Parallelism < 1 || p.Iterations < 1 || p.Memory < 8*uint32(p.Parallelism) || p.Memory > maxArgonKiB || p.Iterations > maxArgonTime:
		return nil, fmt.Errorf("argon2id needs m of at most %d, t from 1 to %d, and p from 1 to m/8", maxArgonKiB, maxArgonTime)
	case len(salt) < 8 || len(key) < 16 || len(key) > 64:
		return nil, errors.New("argon2id needs a salt of at least 8 bytes and a hash of 16 to 64 bytes")
	}
	return func(password string) bool {
		ok, err := argon2id.ComparePasswordAndHash(password, text)
		return ok && err == nil
	}, nil
}

// digest returns the hash of a password that was given to the program itself. It
// is never stored, so a cheap hash is enough.
func digest(password string) hash {
	want := sha256.Sum256([]byte(password))
	return func(password string) bool {
		// Digests have one length, so the password's length cannot be timed either.
		got := sha256.Sum256([]byte(password))
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
}

// HashBcrypt returns an htpasswd line with a bcrypt hash, which most web servers
// understand, of a password of up to 72 bytes.
func HashBcrypt(user, password string) (string, error) {
	user, password, err := normalize(user, password)
	if err != nil {
		return "", err
	}
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcryptCost)
	return user + ":" + string(h), err
}

// HashArgon2id returns an htpasswd line with an argon2id hash, for passwords of any length.
func HashArgon2id(user, password string) (string, error) {
	user, password, err := normalize(user, password)
	if err != nil {
		return "", err
	}
	h, err := argon2id.CreateHash(password, &newArgon)
	return user + ":" + h, err
}

// normalize returns a user and a password in the form in which they are
// compared, or why Basic authentication (RFC 7617 section 2) cannot send them.
func normalize(user, password string) (string, string, error) {
	switch {
	case user == "":
		return "", "", errors.New("a user name must not be empty")
	case strings.Contains(user, ":") || !isPrintable(user):
		return "", "", errors.New("a user name must be UTF-8 without colons and control characters")
	case strings.HasPrefix(user, "#") || strings.TrimSpace(user) != user:
		return "", "", errors.New("a user name must not begin with # or have a space at either end")
	case password == "" || !isPrintable(password):
		return "", "", errors.New("a password must not be empty and must be UTF-8 without control characters")
	}
	return norm.NFC.String(user), norm.NFC.String(password), nil
}

func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
