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

// Users holds the users of a service and the hashes of their passwords. It is
// immutable.
type Users struct {
	hashes map[string]hash   // by name
	lines  map[string]string // of the file, by name; nil without one
	reads  map[string]bool   // the users who may only read, by name
	names  []string          // the keys of hashes, in the order of the file
	key    [32]byte          // picks the hash that an unknown user is compared with
	cheap  bool              // a comparison takes microseconds
}

// maxUsers bounds the memory that a file can use.
const maxUsers = 10_000

// SingleUser returns Users with one user, whose password was given to the program
// itself.
func SingleUser(name, password string) (*Users, error) {
	name, password, err := normalize(name, password)
	if err != nil {
		return nil, err
	}
	return newUsers([]string{name}, map[string]hash{name: digest(password)}, nil, true), nil
}

// ParseHtpasswd parses an htpasswd file: a line "name:hash" for each user, with a
// bcrypt or argon2id hash, or "name:hash:read-only" for one who may only read. It
// skips empty lines and those that begin with #. An error gives the number of the
// line but none of its text.
func ParseHtpasswd(text []byte) (*Users, error) {
	hashes, lines, reads := make(map[string]hash), make(map[string]string), make(map[string]bool)
	var names []string
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\uFEFF"))) {
		n++
		s := strings.TrimSpace(string(line))
		if s == "" || s[0] == '#' {
			continue
		}
		name, h, readOnly, err := parseLine(s)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		case hashes[name] != nil:
			return nil, fmt.Errorf("line %d: the user has another line above", n)
		case len(names) == maxUsers:
			return nil, fmt.Errorf("line %d: a file has at most %d users", n, maxUsers)
		}
		hashes[name], lines[name], reads[name], names = h, s, readOnly, append(names, name)
	}
	if len(names) == 0 {
		return nil, errors.New("no users: add a line that pickup passwd NAME prints")
	}
	u := newUsers(names, hashes, lines, false)
	u.reads = reads
	return u, nil
}

// readOnlySuffix is what a line ends with whose user may only read.
const readOnlySuffix = ":read-only"

func parseLine(line string) (name string, h hash, readOnly bool, err error) {
	name, stored, ok := strings.Cut(line, ":")
	if !ok {
		return "", nil, false, errors.New("expected name:hash")
	}
	stored, readOnly = strings.CutSuffix(stored, readOnlySuffix)
	if name, _, err = normalize(name, "-"); err == nil {
		h, err = parseHash(stored)
	}
	if prefix, _, more := strings.Cut(stored, ":"); err != nil && more {
		if _, wrong := parseHash(prefix); wrong == nil {
			err = errors.New("only this may follow the hash: " + readOnlySuffix)
		}
	}
	return name, h, readOnly, err
}

// ReadOnly returns an htpasswd line with a mark that its user may only read.
func ReadOnly(line string) string { return line + readOnlySuffix }

func newUsers(names []string, hashes map[string]hash, lines map[string]string, cheap bool) *Users {
	u := &Users{hashes: hashes, lines: lines, names: names, cheap: cheap}
	rand.Read(u.key[:]) // never fails
	return u
}

// keep reports whether a user has the same line in both.
func (u *Users) keep(name string, next *Users) bool {
	line, ok := u.lines[name]
	return ok && line == next.lines[name]
}

// verify reports whether the credentials are right. The password of an unknown
// user is compared too, with the hash of a known user that the name picks: so
// the time does not show whether a name exists, even if the hashes of a file
// differ in cost.
func (u *Users) verify(name, password string) bool {
	mac := hmac.New(sha256.New, u.key[:])
	mac.Write([]byte(name))
	pick := binary.BigEndian.Uint64(mac.Sum(nil)) % uint64(len(u.names))
	h, known := u.hashes[name]
	if !known {
		h = u.hashes[u.names[pick]]
	}
	return h(password) && known
}
