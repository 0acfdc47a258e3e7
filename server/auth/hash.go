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

// A hash reports whether a password matches, in about the same time for every password.
type hash func(password string) bool

// Limits on the cost of a hash. Beyond the limits each wrong password would mean seconds of work.
const (
	maxBcryptBytes = 72        // of a password; bcrypt ignores the rest
	maxBcryptCost  = 16        // about 4 s
	maxArgonKiB    = 256 << 10 // of memory
	maxArgonTime   = 16
)

// The cost of new hashes is the minimum in OWASP's Password Storage Cheat Sheet.
const bcryptCost = 10

var newArgon = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// parseHash parses the hash of an htpasswd line.
func parseHash(text string) (hash, error) {
	scheme, _, _ := strings.Cut(strings.TrimPrefix(text, "$"), "$")
	if strings.HasPrefix(text, "$") {
		switch scheme {
		case "argon2id":
			return parseArgon(text)
		case "2a", "2b", "2y":
			return parseBcrypt(text)
		}
	}
	return nil, fmt.Errorf("%s is not accepted: use bcrypt ($2y$, $2b$, $2a$) or $argon2id$, as pickup passwd prints them",
		kindOf(text))
}

// kindOf names the kind of a hash. The name contains no part of the text, which could be a
// password.
func kindOf(text string) string {
	for prefix, name := range map[string]string{
		"$apr1$":    "Apache's MD5",
		"$1$":       "MD5",
		"{SHA}":     "SHA-1",
		"{SSHA}":    "SHA-1",
		"$5$":       "SHA-256 crypt",
		"$6$":       "SHA-512 crypt",
		"$y$":       "yescrypt",
		"$2x$":      "the faulty bcrypt $2x$",
		"$argon2i$": "argon2i",
		"$argon2d$": "argon2d",
	} {
		if strings.HasPrefix(text, prefix) {
			return name
		}
	}
	return "a password in plain text, or an unknown kind of hash,"
}

// parseBcrypt parses a bcrypt hash.
func parseBcrypt(text string) (hash, error) {
	cost, err := bcrypt.Cost([]byte(text))
	if err != nil || len(text) != 60 || strings.Trim(text[len("$2a$10$"):], bcryptDigits) != "" {
		return nil, errors.New("the bcrypt hash is truncated or has an invalid character")
	}
	if cost > maxBcryptCost {
		return nil, fmt.Errorf("the bcrypt cost %d is above the limit of %d", cost, maxBcryptCost)
	}
	return func(password string) bool {
		used := password[:min(len(password), maxBcryptBytes)] // bcrypt would ignore the rest
		return bcrypt.CompareHashAndPassword([]byte(text), []byte(used)) == nil && used == password
	}, nil
}

// bcryptDigits is the alphabet of bcrypt's Base64. A salt with another character would match no
// password, and rejecting a password would take less time.
const bcryptDigits = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// parseArgon parses an argon2id hash, version 19 (RFC 9106), in the PHC string format:
// $argon2id$v=19$m=19456,t=2,p=1$salt$hash. Salt and hash are in unpadded Base64. The argon2
// package panics if t or p is 0, and has no limits.
func parseArgon(text string) (hash, error) {
	p, salt, key, err := argon2id.DecodeHash(text)
	if err == nil {
		const form = "$argon2id$v=%d$m=%d,t=%d,p=%d$"
		head := fmt.Sprintf(form, argon2.Version, p.Memory, p.Iterations, p.Parallelism)
		if !strings.HasPrefix(text, head) { // DecodeHash ignores text after a number
			err = argon2id.ErrInvalidHash
		}
	}
	if err != nil {
		return nil, errors.New("expected $argon2id$v=19$m=…,t=…,p=…$salt$hash, " +
			"with salt and hash in Base64 without padding")
	}
	parallel := uint32(p.Parallelism)
	if parallel < 1 || p.Iterations < 1 || p.Iterations > maxArgonTime || p.Memory < 8*parallel ||
		p.Memory > maxArgonKiB {
		return nil, fmt.Errorf("argon2id needs m of at most %d, t from 1 to %d, and p from 1 to m/8", maxArgonKiB,
			maxArgonTime)
	}
	if len(salt) < 8 || len(key) < 16 || len(key) > 64 {
		return nil, errors.New("argon2id needs a salt of at least 8 bytes and a hash of 16 to 64 bytes")
	}
	return func(password string) bool {
		ok, err := argon2id.ComparePasswordAndHash(password, text)
		return ok && err == nil
	}, nil
}

// digest returns the hash of a password that the program itself received. The hash is never
// stored, so a cheap hash is enough.
func digest(password string) hash {
	want := sha256.Sum256([]byte(password))
	return func(password string) bool {
		// All digests have the same length, so the time does not show the length of the password.
		got := sha256.Sum256([]byte(password))
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
}

// HashBcrypt returns an htpasswd line with a bcrypt hash, which most web servers understand. The
// password may have up to 72 bytes.
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

// normalize returns a user and a password in the normal form for comparisons. It returns an error
// if Basic authentication (RFC 7617 section 2) cannot transmit the two.
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
