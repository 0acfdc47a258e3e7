package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"pickup/server/auth"
)

// A passwdCommand prints the line of an htpasswd file. The password is never
// an argument: every process of the machine can read those.
type passwdCommand struct {
	Name string `arg:"" help:"The user."`
	Hash string `enum:"bcrypt,argon2id" default:"bcrypt" placeholder:"bcrypt|argon2id" help:"How the password is hashed: bcrypt takes 72 bytes of it at most, argon2id any length (${default})."`
}

// maxPassword bounds what is read of standard input, in bytes.
const maxPassword = 4 << 10

func (c *passwdCommand) run(_ context.Context, e *environment) error {
	password, err := c.ask(e)
	if err != nil {
		return err
	}
	make := auth.HashBcrypt
	if c.Hash == "argon2id" {
		make = auth.HashArgon2id
	} else if len(password) > 72 {
		return usagef("the password has %d bytes, and bcrypt looks at the first 72 alone: add --hash=argon2id, or take a shorter one", len(password))
	}
	line, err := make(c.Name, password)
	if err != nil {
		return usageError{err}
	}
	_, err = fmt.Fprintln(e.stdout, line)
	return err
}

// ask returns the password: asked for twice on a terminal, else the first line
// of standard input.
func (c *passwdCommand) ask(e *environment) (string, error) {
	if f, ok := e.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		first, err := prompt(f, e.stderr, "Password for "+printed(c.Name)+": ")
		if err != nil {
			return "", err
		}
		second, err := prompt(f, e.stderr, "The same again: ")
		switch {
		case err != nil:
			return "", err
		case first != second:
			return "", errors.New("the two differ")
		}
		return first, nil
	}
	line, err := bufio.NewReader(io.LimitReader(e.stdin, maxPassword)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// prompt asks on a terminal, which does not show what is typed.
func prompt(f *os.File, to io.Writer, text string) (string, error) {
	fmt.Fprint(to, text)
	password, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(to)
	if err != nil {
		return "", fmt.Errorf("the terminal: %w", err)
	}
	return string(password), nil
}
