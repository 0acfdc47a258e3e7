package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/text/unicode/norm"
)

// A hash is what is stored of a password. matches takes about as long whatever
// the password is.
type hash interface {
	matches(password string) bool
}

// Bounds of what a line may ask of this machine. A cost above them would turn
// each wrong password into seconds of work.
const (
	bcryptMost    = 72        // bytes of a password; bcrypt overlooks the rest
	maxBcryptCost = 16        // some 4 s
	maxArgonKiB   = 256 << 10 // of memory
	maxArgonTime  = 16
)

// What new hashes cost: the minimum that OWASP's Password Storage Cheat Sheet
// names for each.
const (
	bcryptCost   = 10
	argonKiB     = 19 << 10
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16 // bytes
	argonKey     = 32 // bytes
)

// parseHash reads a hash as an htpasswd line has it.
func parseHash(text string) (hash, error) {
	switch {
	case strings.HasPrefix(text, "$argon2id$"):
		return parseArgon(text)
	case strings.HasPrefix(text, "$2a$"), strings.HasPrefix(text, "$2b$"), strings.HasPrefix(text, "$2y$"):
		cost, err := bcrypt.Cost([]byte(text))
		switch {
		case err != nil || len(text) != 60 || strings.Trim(text[len("$2a$10$"):], bcryptDigits) != "":
			return nil, errors.New("the bcrypt hash is cut off or has a character that cannot be in it")
		case cost > maxBcryptCost:
			return nil, fmt.Errorf("bcrypt's cost is %d, and %d is the most that is taken", cost, maxBcryptCost)
		}
		return bcryptHash(text), nil
	}
	return nil, fmt.Errorf("%s is refused: only bcrypt ($2y$, $2b$, $2a$) and $argon2id$ are safe enough; pickup passwd makes such a line", scheme(text))
}

// scheme names what a hash is, without a part of it: it could be a password.
func scheme(text string) string {
	for prefix, name := range map[string]string{
		"$apr1$": "Apache's MD5", "$1$": "MD5", "{SHA}": "SHA-1", "{SSHA}": "SHA-1", "$5$": "SHA-256 crypt",
		"$6$": "SHA-512 crypt", "$y$": "yescrypt", "$2x$": "the faulty bcrypt $2x$", "$argon2i$": "argon2i", "$argon2d$": "argon2d",
	} {
		if strings.HasPrefix(text, prefix) {
			return name
		}
	}
	return "a password in plain text, or a hash of another kind,"
}

// bcryptDigits are those of bcrypt's own Base64. A salt that has another
// character would match no password, and say so sooner than others do.
const bcryptDigits = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

type bcryptHash string

func (h bcryptHash) matches(password string) bool {
	// bcrypt hashes nothing longer but compares the first 72 bytes of it.
	short := len(password) <= bcryptMost
	if !short {
		password = password[:bcryptMost]
	}
	return bcrypt.CompareHashAndPassword([]byte(h), []byte(password)) == nil && short
}

// An argonHash is Argon2id with version 19 (RFC 9106).
type argonHash struct {
	memory, time uint32
	threads      uint8
	salt, key    []byte
}

// parseArgon reads the PHC string format:
// $argon2id$v=19$m=19456,t=2,p=1$salt$hash, the last two in unpadded Base64.
func parseArgon(text string) (hash, error) {
	var h argonHash
	var version int
	parts := strings.Split(text, "$")
	if len(parts) != 6 {
		return nil, errors.New("an argon2id hash is $argon2id$v=19$m=…,t=…,p=…$salt$hash")
	}
	if n, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &h.memory, &h.time, &h.threads); n != 4 || err != nil || version != argon2.Version ||
		parts[3] != fmt.Sprintf("m=%d,t=%d,p=%d", h.memory, h.time, h.threads) {
		return nil, errors.New("an argon2id hash has v=19 and then m=…,t=…,p=…")
	}
	if h.threads < 1 || h.time < 1 || h.memory < 8*uint32(h.threads) || h.memory > maxArgonKiB || h.time > maxArgonTime {
		return nil, fmt.Errorf("argon2id's m is at most %d, its t at most %d, its p at least 1 and at most m/8", maxArgonKiB, maxArgonTime)
	}
	var err, err2 error
	h.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	h.key, err2 = base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || err2 != nil || len(h.salt) < 8 || len(h.key) < 16 || len(h.key) > 64 {
		return nil, errors.New("argon2id's salt has 8 bytes or more and its hash 16 to 64, in Base64 without padding")
	}
	return h, nil
}

func (h argonHash) matches(password string) bool {
	key := argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, uint32(len(h.key)))
	return subtle.ConstantTimeCompare(key, h.key) == 1
}

// A digest is what is kept of a password that the program was given itself. It
// is in memory alone, so it costs next to nothing.
type digest [sha256.Size]byte

func (d digest) matches(password string) bool {
	// Digests have one length, so that not even the length can be timed.
	got := sha256.Sum256([]byte(password))
	return subtle.ConstantTimeCompare(got[:], d[:]) == 1
}

// HashBcrypt returns the line of an htpasswd file for a user, with a bcrypt
// hash, which most web servers understand.
func HashBcrypt(user, password string) (string, error) {
	user, password, err := fit(user, password)
	if err != nil {
		return "", err
	}
	if len(password) > bcryptMost {
		return "", fmt.Errorf("the password has %d bytes, and bcrypt looks at the first %d alone", len(password), bcryptMost)
	}
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcryptCost)
	return user + ":" + string(h), err
}

// HashArgon2id returns the line of an htpasswd file for a user, with an
// argon2id hash, for passwords of any length.
func HashArgon2id(user, password string) (string, error) {
	user, password, err := fit(user, password)
	if err != nil {
		return "", err
	}
	salt := make([]byte, argonSalt)
	rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, argonTime, argonKiB, argonThreads, argonKey)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("%s:$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", user, argon2.Version, argonKiB, argonTime, argonThreads,
		b64.EncodeToString(salt), b64.EncodeToString(key)), nil
}

// fit returns a user and a password as they are compared, or why they cannot
// be used for Basic authentication (RFC 7617 section 2).
func fit(user, password string) (string, string, error) {
	switch {
	case user == "" || strings.Contains(user, ":") || !plain(user):
		return "", "", errors.New("a user's name is UTF-8 text without colons and control characters")
	case strings.HasPrefix(user, "#") || strings.TrimSpace(user) != user:
		return "", "", errors.New("a user's name begins with no # and has no space at its ends")
	case password == "" || !plain(password):
		return "", "", errors.New("a password is UTF-8 text without control characters, and not empty")
	}
	return norm.NFC.String(user), norm.NFC.String(password), nil
}

func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
