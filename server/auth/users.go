package auth

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Users are who may use a service. They do not change.
type Users struct {
	hashes map[string]hash // by name
	names  []string        // of hashes, in the order of the file
	key    [32]byte        // chooses whose hash an unknown user is compared with
	cheap  bool            // a comparison costs microseconds
}

// maxUsers bounds the memory that a file can ask for.
const maxUsers = 10_000

// SingleUser returns one user whose password the program knows itself.
func SingleUser(name, password string) (*Users, error) {
	name, password, err := fit(name, password)
	if err != nil {
		return nil, err
	}
	return newUsers([]string{name}, map[string]hash{name: digest(sha256.Sum256([]byte(password)))}, true), nil
}

// ParseHtpasswd reads the text of an htpasswd file: a line "name:hash" for each
// user, with a bcrypt or argon2id hash. Empty lines and those that begin with
// # are left out. An error names the line, and nothing that stands in it.
func ParseHtpasswd(text []byte) (*Users, error) {
	hashes := make(map[string]hash)
	var names []string
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\uFEFF"))) {
		n++
		s := strings.TrimSpace(string(line))
		if s == "" || s[0] == '#' {
			continue
		}
		name, stored, ok := strings.Cut(s, ":")
		if !ok {
			return nil, fmt.Errorf("line %d: it has to be a name, a colon and a hash", n)
		}
		name, _, err := fit(name, "-")
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if _, twice := hashes[name]; twice {
			return nil, fmt.Errorf("line %d: the user stands in an earlier line too", n)
		}
		h, err := parseHash(stored)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(names) == maxUsers {
			return nil, fmt.Errorf("line %d: there are more than %d users", n, maxUsers)
		}
		hashes[name], names = h, append(names, name)
	}
	if len(names) == 0 {
		return nil, errors.New("there is no user in it: pickup passwd NAME makes a line")
	}
	return newUsers(names, hashes, false), nil
}

func newUsers(names []string, hashes map[string]hash, cheap bool) *Users {
	u := &Users{hashes: hashes, names: names, cheap: cheap}
	rand.Read(u.key[:]) // never fails
	return u
}

// verify reports whether the credentials are good. A user that does not exist
// is compared as well, with the hash of one that does, and always of the same
// one: hashes of several costs in one file give unknown names several times, as
// they give them to known ones.
func (u *Users) verify(name, password string) bool {
	mac := hmac.New(sha256.New, u.key[:])
	mac.Write([]byte(name))
	pick := binary.BigEndian.Uint64(mac.Sum(nil)) % uint64(len(u.names))
	h, known := u.hashes[name]
	if !known {
		h = u.hashes[u.names[pick]]
	}
	return h.matches(password) && known
}
