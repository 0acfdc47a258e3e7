package main

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A completionCommand prints a script for the completion of pickup's command lines. The script
// runs the command to get the candidates for a word.
type completionCommand struct {
	Shell string   `arg:"" enum:"bash,zsh,fish,powershell" help:"One of bash, zsh, fish or powershell."`
	Words []string `arg:"" optional:"" help:"Print the completions of the last of these words; for the script."`
}

// completions has the script of each shell. A script completes file names if pickup prints no
// candidates.
//
//go:embed completion
var completions embed.FS

// run prints the script, or the candidates for the last word, each with a help text after a
// tab. The shell filters candidates by prefix.
func (c *completionCommand) run(_ context.Context, e *environment) error {
	words, commands := c.Words, e.parsed.Model.Children
	if len(words) == 0 {
		script, err := completions.ReadFile("completion/" + c.Shell)
		if err == nil {
			_, err = e.stdout.Write(script)
		}
		return err
	}
	last := words[len(words)-1]
	command := commands[0] // serve
	for _, n := range commands {
		if len(words) > 1 && n.Name == words[0] {
			command = n
		}
	}
	flags, values := slices.Concat(command.AllFlags(true)...), command.Positional
	for _, flag := range flags {
		if len(words) > 1 && words[len(words)-2] == "--"+flag.Name && !flag.IsBool() {
			values, last = []*kong.Value{flag.Value}, ""
		}
	}
	switch {
	case strings.HasPrefix(last, "-"):
		for _, flag := range flags {
			e.printf("--%s\t%s\n", flag.Name, flag.Help)
		}
	case len(words) == 1:
		for _, n := range commands {
			e.printf("%s\t%s\n", n.Name, n.Help)
		}
	default:
		for _, v := range values {
			fmt.Fprint(e.stdout, strings.ReplaceAll(v.Enum, ",", "\n"))
		}
	}
	return nil
}
