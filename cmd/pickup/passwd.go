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

	"pickup/internal/config"
	"pickup/internal/spell"
	"pickup/server/auth"
)

// A passwdCommand prints a line for an htpasswd file. The password is never an
// argument, because every process of the machine can read arguments.
type passwdCommand struct {
	Name string `arg:"" help:"Name of the user."`
	Hash string `enum:"bcrypt,argon2id" default:"bcrypt" placeholder:"bcrypt|argon2id" help:"Hash with bcrypt, for passwords up to 72 bytes, or argon2id (${default})."`

	ReadOnly bool `help:"The user may only read."`
}

func (c *passwdCommand) run(_ context.Context, e *environment) error {
	password, err := c.ask(e)
	if err != nil {
		return err
	}
	make := auth.HashBcrypt
	if c.Hash == "argon2id" {
		make = auth.HashArgon2id
	} else if len(password) > 72 {
		return config.Usagef("the password has %d bytes, and bcrypt uses only the first 72: "+
			"use --hash=argon2id or a shorter password", len(password))
	}
	line, err := make(c.Name, password)
	if err != nil {
		return config.UsageError{Err: err}
	}
	if c.ReadOnly {
		line = auth.ReadOnly(line)
	}
	_, err = fmt.Fprintln(e.stdout, line)
	return err
}

// ask prompts twice for the password on a terminal. Otherwise ask reads the first line of
// standard input.
func (c *passwdCommand) ask(e *environment) (string, error) {
	f, ok := e.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(e.stdin, 4<<10)).ReadString('\n')
		if err != nil && err != io.EOF {
			return "", fmt.Errorf("cannot read standard input: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var typed [2]string
	for i, prompt := range []string{"Password for " + spell.Printable(c.Name), "Repeat password"} {
		fmt.Fprint(e.stderr, prompt+": ")
		password, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(e.stderr)
		if err != nil {
			return "", fmt.Errorf("cannot read the terminal: %w", err)
		}
		typed[i] = string(password)
	}
	if typed[0] != typed[1] {
		return "", errors.New("the passwords differ; run the command again")
	}
	return typed[0], nil
}
