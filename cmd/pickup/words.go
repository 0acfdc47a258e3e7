package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
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
	meant, least := "", 3
	for _, c := range commands {
		if n := slips(word, c.Name); n < least {
			meant, least = " (did you mean "+c.Name+"?)", n
		}
	}
	return usagef("there is no command %q%s; to serve a file of that name: pickup serve %s", word, meant, shellWord(word))
}

// slips counts the letters put in, taken out and replaced on the way from a to
// b (the distance of Levenshtein).
func slips(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
