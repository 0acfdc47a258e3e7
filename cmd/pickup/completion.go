package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A completionCommand prints a script that completes command lines of pickup or,
// for that script, the completions of a word.
type completionCommand struct {
	Shell string   `arg:"" enum:"bash,zsh,fish" help:"One of bash, zsh or fish."`
	Words []string `arg:"" optional:"" help:"Print the completions of the last of these words; for the script."`
}

// The scripts complete the names of files if pickup has no completions. zsh can
// run completions for bash.
const (
	bashScript = `# completion of pickup for bash: source <(pickup completion bash)
_pickup() {
  local words=$(pickup completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" | cut -f 1)
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _pickup pickup
`
	zshScript  = "#compdef pickup\nautoload -U +X bashcompinit && bashcompinit\n" + bashScript
	fishScript = `# completion of pickup for fish: pickup completion fish | source
complete -c pickup -a '(pickup completion fish -- (commandline -opc)[2..-1] (commandline -ct))'
`
)

func (c *completionCommand) run(_ context.Context, e *environment) error {
	if len(c.Words) > 0 {
		complete(e.stdout, e.parsed.Model.Node, c.Words)
		return nil
	}
	text := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell]
	_, err := fmt.Fprint(e.stdout, text)
	return err
}

// complete prints what the last of words may become, with its meaning after a tab.
// The shell selects what begins as the word does.
func complete(w io.Writer, app *kong.Node, words []string) {
	last, previous := words[len(words)-1], ""
	command := app.Children[0] // serve
	if len(words) > 1 {
		previous = words[len(words)-2]
		named := slices.IndexFunc(app.Children, func(n *kong.Node) bool { return n.Name == words[0] })
		command = app.Children[max(0, named)]
	}
	flags := slices.Concat(command.AllFlags(true)...)
	values := slices.Clone(command.Positional)
	for _, flag := range flags {
		if previous == "--"+flag.Name && !flag.IsBool() {
			values, last = []*kong.Value{flag.Value}, ""
		}
	}
	switch {
	case strings.HasPrefix(last, "-"):
		for _, flag := range flags {
			fmt.Fprintf(w, "--%s\t%s\n", flag.Name, flag.Help)
		}
	case len(words) == 1:
		for _, n := range app.Children {
			fmt.Fprintf(w, "%s\t%s\n", n.Name, n.Help)
		}
	default:
		for _, v := range values {
			fmt.Fprint(w, strings.ReplaceAll(v.Enum, ",", "\n"))
		}
	}
}
