package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"pickup/server/auth"
)

// noAuth says whether clients need no credentials.
type noAuth string

const (
	authNeeded   noAuth = ""         // they need them
	noAuthLocal  noAuth = "loopback" // not on a loopback address
	noAuthPublic noAuth = "public"   // not on any address
)

// Decode parses --no-auth, --no-auth=public, and the variable, which also accepts
// the usual words for yes and no.
func (n *noAuth) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		*n = noAuthLocal
		return nil
	}
	switch v := ctx.Scan.Pop().String(); strings.ToLower(v) {
	case "public":
		*n = noAuthPublic
	case "1", "true", "yes", "on", "loopback":
		*n = noAuthLocal
	case "0", "false", "no", "off":
		*n = authNeeded
	default:
		return fmt.Errorf("%q is not public, true or false", v)
	}
	return nil
}

// IsBool makes the parser accept the flag without a value.
func (*noAuth) IsBool() bool { return true }

// credentials are those of the users in an htpasswd file, or of the one user that
// the variables name.
type credentials struct {
	user, password string
	generated      bool // password is random and not yet known to anyone

	auth     *auth.Verifier
	htpasswd *reloadable // nil without --htpasswd
}

// defaultUser is the name of the user unless PICKUP_USER says otherwise.
const defaultUser = "pickup"

// shown returns the name of the user if everyone knows it, otherwise "".
func (c credentials) shown() string {
	if c.user == defaultUser {
		return c.user
	}
	return ""
}

// readCredentials reads the htpasswd file or, without one, the variables of one
// user. It generates a password if none is set.
func readCredentials(getenv func(string) string, htpasswd string) (c credentials, err error) {
	if htpasswd != "" {
		return readUsers(getenv, htpasswd)
	}
	if c.user, c.password, err = readUser(getenv); err != nil {
		return c, err
	}
	if c.password == "" {
		c.password, c.generated = rand.Text(), true
	}
	users, err := auth.SingleUser(c.user, c.password)
	if err != nil {
		return c, usagef("PICKUP_USER, PICKUP_PASSWORD: %w", err)
	}
	c.auth = auth.New(users)
	return c, nil
}

// readUser returns the user of PICKUP_USER and the password of PICKUP_PASSWORD or
// PICKUP_PASSWORD_FILE, "" if neither is set.
func readUser(getenv func(string) string) (user, password string, err error) {
	password, err = readPassword(getenv, "PICKUP_PASSWORD")
	return cmp.Or(getenv("PICKUP_USER"), defaultUser), password, err
}

// readPassword returns the password in the variable with that name, or in the file
// that the variable with _FILE at the end names, "" if neither is set.
func readPassword(getenv func(string) string, name string) (string, error) {
	password, file := getenv(name), getenv(name+"_FILE")
	if file == "" {
		return password, nil
	}
	if password != "" {
		return "", usagef("%s and %s_FILE are both set: keep one", name, name)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", usagef("%s_FILE: %w", name, err)
	}
	password, rest, _ := strings.Cut(string(text), "\n")
	password = strings.TrimSuffix(password, "\r")
	if password == "" || strings.TrimSpace(rest) != "" {
		return "", usagef("%s_FILE: %s must contain only the password, on its first line", name, file)
	}
	return password, nil
}

// readUsers reads an htpasswd file.
func readUsers(getenv func(string) string, file string) (credentials, error) {
	for _, name := range []string{"PICKUP_USER", "PICKUP_PASSWORD", "PICKUP_PASSWORD_FILE"} {
		if getenv(name) != "" {
			return credentials{}, usagef("--htpasswd and %s are both set: keep one", name)
		}
	}
	c := credentials{auth: auth.New(new(auth.Users))}
	c.htpasswd = newReloadable("users", "the previous users stay in force", func(texts [][]byte) error {
		users, err := auth.ParseHtpasswd(texts[0])
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		c.auth.SetUsers(users)
		return nil
	}, file)
	if err := c.htpasswd.load(context.Background()); err != nil {
		return c, fileError("--htpasswd", err)
	}
	return c, nil
}

// printable reports whether s is valid UTF-8 without control characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// onlyLoopback reports whether a server that listens on host is reachable from this
// machine only.
func onlyLoopback(host string) (bool, error) {
	addr, err := net.ResolveIPAddr("ip", host)
	if err != nil {
		return false, usagef("--host: %w; use an address of this machine, such as 127.0.0.1", err)
	}
	return addr.IP.IsLoopback(), nil
}
