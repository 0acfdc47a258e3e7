package auth

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
)

// Users holds the users of a service and the hashes of their passwords.
type Users struct {
	byName map[string]*user
	names  []string     // the keys of byName, in the order of the file
	seed   maphash.Seed // picks the hash for unknown users, see verify
}

// A user is an account with the hash of its password.
type user struct {
	Account
	hash hash
	line [sha256.Size]byte // digest of the line in the file; a different line is a different user
}

// maxUsers bounds the memory for a file.
const maxUsers = 10_000

// SingleUser returns Users with a single user, whose password the program received.
func SingleUser(name, password string) (*Users, error) {
	name, password, err := normalize(name, password)
	if err != nil {
		return nil, err
	}
	u := &Users{byName: make(map[string]*user), seed: maphash.MakeSeed()}
	u.add(newUser(name, rand.Text(), digest(password), false))
	return u, nil
}

// ParseHtpasswd parses an htpasswd file: a line "name:hash" for each user, with a bcrypt or
// argon2id hash, or "name:hash:read-only" for a read-only user. ParseHtpasswd skips empty lines
// and lines that start with #. Errors contain the number of the line but no text of the line.
func ParseHtpasswd(text []byte) (*Users, error) {
	u := &Users{byName: make(map[string]*user), seed: maphash.MakeSeed()}
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\uFEFF"))) {
		n++
		s := strings.TrimSpace(string(line))
		if s == "" || s[0] == '#' {
			continue
		}
		user, err := parseLine(s)
		if err == nil && u.byName[user.Name] != nil {
			err = errors.New("the user has another line above")
		}
		if err == nil && len(u.names) == maxUsers {
			err = fmt.Errorf("a file has at most %d users", maxUsers)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		u.add(user)
	}
	if len(u.names) == 0 {
		return nil, errors.New("no users: add a line that pickup passwd NAME prints")
	}
	return u, nil
}

// readOnlySuffix ends the line of a read-only user.
const readOnlySuffix = ":read-only"

func parseLine(line string) (*user, error) {
	name, stored, ok := strings.Cut(line, ":")
	if !ok {
		return nil, errors.New("expected name:hash")
	}
	stored, readOnly := strings.CutSuffix(stored, readOnlySuffix)
	name, _, err := normalize(name, "-")
	if err != nil {
		return nil, err
	}
	h, err := parseHash(stored)
	if err == nil {
		return newUser(name, line, h, readOnly), nil
	}
	prefix, _, more := strings.Cut(stored, ":")
	if _, wrong := parseHash(prefix); more && wrong == nil {
		err = errors.New("only this may follow the hash: " + readOnlySuffix)
	}
	return nil, err
}

// ReadOnly returns an htpasswd line that makes the user read-only.
func ReadOnly(line string) string { return line + readOnlySuffix }

func newUser(name, line string, h hash, readOnly bool) *user {
	return &user{Account{name, readOnly, make(chan struct{})}, h, sha256.Sum256([]byte(line))}
}

func (u *Users) add(user *user) {
	u.names = append(u.names, user.Name)
	u.byName[user.Name] = user
}

// verify reports whether the credentials are right. verify also compares the password of an
// unknown user, with the hash of a known user picked by the name: the time does not show whether
// a name exists, even if the hashes of a file differ in cost.
func (u *Users) verify(name, password string) bool {
	pick := maphash.String(u.seed, name) % uint64(len(u.names))
	compared, known := u.byName[name]
	if !known {
		compared = u.byName[u.names[pick]]
	}
	return compared.hash(password) && known
}
