package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// A completionCommand prints a script for completion of commands and flags.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"One of bash, zsh or fish."`
}

func (c *completionCommand) run(_ context.Context, e *environment) error {
	text := ""
	switch c.Shell {
	case "bash":
		text = bash(e.parsed.Model)
	case "zsh":
		// zsh can run completions for bash.
		text = "#compdef pickup\nautoload -U +X bashcompinit && bashcompinit\n" + bash(e.parsed.Model)
	case "fish":
		text = fish(e.parsed.Model)
	}
	_, err := fmt.Fprint(e.stdout, text)
	return err
}

// flagsOf returns the flags of a command and of its parents.
func flagsOf(node *kong.Node) []*kong.Flag {
	var all []*kong.Flag
	for _, group := range node.AllFlags(true) {
		all = append(all, group...)
	}
	return all
}

func longFlags(node *kong.Node) string {
	var names []string
	for _, f := range flagsOf(node) {
		names = append(names, "--"+f.Name)
	}
	return strings.Join(names, " ")
}

// bash returns a script for bash 4 and later.
func bash(app *kong.Application) string {
	var names []string
	var serve, words, values strings.Builder
	for _, n := range app.Children {
		names = append(names, n.Name)
		fmt.Fprintf(&words, "    %s) words=%q ;;\n", n.Name, longFlags(n))
		if n.Name != "serve" {
			continue
		}
		serve.WriteString(longFlags(n))
		for _, f := range flagsOf(n) {
			if f.Enum != "" {
				fmt.Fprintf(&values, "    --%s) COMPREPLY=($(compgen -W %q -- \"$cur\")); return ;;\n", f.Name, choices(f.Enum))
			}
		}
	}
	return fmt.Sprintf(`# completion of pickup for bash: source <(pickup completion bash)
_pickup() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=%q
  case $prev in
    completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur")); return ;;
%s  esac
  case ${COMP_WORDS[1]} in
%s  esac
  if [[ $COMP_CWORD -eq 1 && $cur != -* ]]; then words=%q; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur") $(compgen -f -- "$cur"))
}
complete -o filenames -F _pickup pickup
`, serve.String(), values.String(), words.String(), strings.Join(names, " "))
}

// choices returns the values of an enum as words.
func choices(enum string) string { return strings.ReplaceAll(enum, ",", " ") }

// fish returns a script for fish.
func fish(app *kong.Application) string {
	var b strings.Builder
	b.WriteString("# completion of pickup for fish: pickup completion fish | source\n")
	for _, n := range app.Children {
		fmt.Fprintf(&b, "complete -c pickup -n __fish_use_subcommand -a %s -d '%s'\n", n.Name, fishQuoted(n.Help))
		condition := "__fish_seen_subcommand_from " + n.Name
		if n.Name == "serve" {
			condition = "__fish_use_subcommand; or " + condition
		}
		for _, f := range flagsOf(n) {
			fmt.Fprintf(&b, "complete -c pickup -n '%s' -l %s", condition, f.Name)
			if f.Short != 0 {
				fmt.Fprintf(&b, " -s %c", f.Short)
			}
			if !f.IsBool() {
				b.WriteString(" -r")
			}
			if f.Enum != "" {
				fmt.Fprintf(&b, " -f -a '%s'", choices(f.Enum))
			}
			help, _, _ := strings.Cut(f.Help, " ($")
			fmt.Fprintf(&b, " -d '%s'\n", fishQuoted(help))
		}
	}
	b.WriteString("complete -c pickup -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n")
	return b.String()
}

func fishQuoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)
}
