package config

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"pickup/internal/reload"
	"pickup/server/auth"
)

// NoAuth says whether clients need no credentials.
type NoAuth string

const (
	AuthNeeded   NoAuth = ""         // clients need credentials
	NoAuthLocal  NoAuth = "loopback" // not on a loopback address
	NoAuthPublic NoAuth = "public"   // not on any address
)

// Decode parses --no-auth, --no-auth=public, and the variable, with the usual words for yes and
// no.
func (n *NoAuth) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		*n = NoAuthLocal
		return nil
	}
	switch v := ctx.Scan.Pop().String(); strings.ToLower(v) {
	case "public":
		*n = NoAuthPublic
	case "1", "true", "yes", "on", "loopback":
		*n = NoAuthLocal
	case "0", "false", "no", "off":
		*n = AuthNeeded
	default:
		return fmt.Errorf("%q is not public, true or false", v)
	}
	return nil
}

// IsBool makes the parser accept the flag without a value.
func (*NoAuth) IsBool() bool { return true }

// Credentials are the users in an htpasswd file, or the one user in the variables.
type Credentials struct {
	User, Password string
	Generated      bool // Password is random and not yet known to anyone

	Auth     *auth.Verifier
	Htpasswd *reload.Files // nil without --htpasswd
}

// defaultUser is the name of the user unless PICKUP_USER says otherwise.
const defaultUser = "pickup"

// Shown returns the name of the user if everyone knows it, otherwise "".
func (c Credentials) Shown() string {
	if c.User == defaultUser {
		return c.User
	}
	return ""
}

// ReadCredentials reads the htpasswd file or, without one, the variables of one user. Without a
// password, ReadCredentials generates one.
func ReadCredentials(ctx context.Context, getenv func(string) string, htpasswd string) (c Credentials, err error) {
	if htpasswd != "" {
		return readUsers(ctx, getenv, htpasswd)
	}
	if c.User, c.Password, err = ReadUser(getenv); err != nil {
		return c, err
	}
	if c.Password == "" {
		c.Password, c.Generated = rand.Text(), true
	}
	users, err := auth.SingleUser(c.User, c.Password)
	if err != nil {
		return c, Usagef("PICKUP_USER, PICKUP_PASSWORD: %w", err)
	}
	c.Auth = auth.New(users)
	return c, nil
}

// ReadUser returns the user of PICKUP_USER and the password of PICKUP_PASSWORD or
// PICKUP_PASSWORD_FILE, "" if neither is set.
func ReadUser(getenv func(string) string) (user, password string, err error) {
	password, err = ReadPassword(getenv, "PICKUP_PASSWORD")
	return cmp.Or(getenv("PICKUP_USER"), defaultUser), password, err
}

// ReadPassword returns the password in the variable with that name, or in the file of the
// variable with _FILE at the end, "" if neither is set.
func ReadPassword(getenv func(string) string, name string) (string, error) {
	password, file := getenv(name), getenv(name+"_FILE")
	if file == "" {
		return password, nil
	}
	if password != "" {
		return "", Usagef("%s and %s_FILE are both set: keep one", name, name)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", Usagef("%s_FILE: %w", name, err)
	}
	password, rest, _ := strings.Cut(string(text), "\n")
	password = strings.TrimSuffix(password, "\r")
	if password == "" || strings.TrimSpace(rest) != "" {
		return "", Usagef("%s_FILE: %s must contain only the password, on its first line", name, file)
	}
	return password, nil
}

// readUsers reads an htpasswd file.
func readUsers(ctx context.Context, getenv func(string) string, file string) (Credentials, error) {
	for _, name := range []string{"PICKUP_USER", "PICKUP_PASSWORD", "PICKUP_PASSWORD_FILE"} {
		if getenv(name) != "" {
			return Credentials{}, Usagef("--htpasswd and %s are both set: keep one", name)
		}
	}
	c := Credentials{Auth: auth.New(new(auth.Users))}
	c.Htpasswd = reload.New("users", "the previous users stay in force", func(texts [][]byte) error {
		users, err := auth.ParseHtpasswd(texts[0])
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		c.Auth.SetUsers(users)
		return nil
	}, file)
	if err := c.Htpasswd.Load(ctx); err != nil {
		return c, fileError("--htpasswd", err)
	}
	return c, nil
}
