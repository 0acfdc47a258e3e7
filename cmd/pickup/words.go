package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"pickup/internal/spell"
)

// spelled returns a command line as the grammar has it: other programs have
// taught people to type "help" and "--version".
func spelled(args []string) []string {
	switch {
	case len(args) == 0:
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	}
	return args
}

// noCommand refuses to take a single word for a file that is to be made, where
// no command is named: it is a command that was mistyped.
func noCommand(word string, commands []*kong.Node) error {
	if word == "" || strings.ContainsAny(word, `./\`) {
		return nil
	}
	if _, err := os.Stat(word); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	hint := spell.DidYouMean(word, "the commands", names)
	return usagef("unknown command %q%s (to serve a file of that name: pickup serve %s)", word, hint, shellWord(word))
}
