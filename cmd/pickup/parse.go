package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"pickup/internal/config"
	"pickup/internal/spell"
)

// A grammar describes the command line. A variable has the value of a flag that is not given;
// an empty variable counts as unset.
type grammar struct {
	Serve      serveCommand      `cmd:"" default:"withargs" help:"Serve a JSON file as a REST API. This is the default command."`
	Init       initCommand       `cmd:"" help:"Create a file and its schema, or a schema for an existing file. Overwrites nothing."`
	Check      checkCommand      `cmd:"" help:"List everything that is wrong with a file, as FILE:LINE:COLUMN: message."`
	Schema     schemaCommand     `cmd:"" help:"Infer a schema from a file and write it next to the file."`
	Types      typesCommand      `cmd:"" help:"Print TypeScript types of the records and bodies of a file, as a server has them at /_/types.d.ts."`
	Generate   generateCommand   `cmd:"" help:"Add made-up records that fit the rules and look like the others."`
	Diff       diffCommand       `cmd:"" help:"Print what differs between two files or commits, by record. The exit code is 0 if nothing does, 1 if something does."`
	Merge      mergeCommand      `cmd:"" help:"Merge two edits of a file into OURS, by record. git runs it after pickup init --git."`
	Import     importCommand     `cmd:"" help:"Import CSV, JSON or a HAR file into a file, or copy a file and its schema into a database in an etcd cluster."`
	Export     exportCommand     `cmd:"" help:"Write a database in an etcd cluster, and its schema, to a file."`
	Tail       tailCommand       `cmd:"" help:"Print the changes of a running server as they happen, as a colored diff or as JSON."`
	Health     healthCommand     `cmd:"" help:"Check whether a running server is ready."`
	Passwd     passwdCommand     `cmd:"" help:"Print a line for --htpasswd: a user and the hash of a password, which is prompted for or read from standard input."`
	Config     configCommand     `cmd:"" help:"Print the settings in force and where each comes from."`
	Completion completionCommand `cmd:"" help:"Print a completion script for a shell."`
	Version    versionCommand    `cmd:"" help:"Print the version."`

	ConfigFile string `name:"config" short:"c" placeholder:"FILE" help:"Read settings from a TOML or JSON file ($PICKUP_CONFIG; pickup.toml or pickup.json)."`
}

// parse returns the command in args, or nil after printing help.
func parse(ctx context.Context, args []string, e *environment) (command, error) {
	var g grammar
	helped := false
	var configErr error
	e.Sources, configErr = config.NewSources(ctx, args, e.Getenv)
	k, err := kong.New(&g,
		kong.Name("pickup"),
		kong.Description("pickup serves a JSON file as a REST API. The file stays yours to edit."),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(int) { helped = true }),
		kong.Help(help),
		kong.ExplicitGroups(topics),
		kong.Resolvers(kong.ResolverFunc(e.Resolve)),
	)
	if err != nil {
		return nil, fmt.Errorf("grammar of the command line: %w", err)
	}
	args = respell(args)
	if i := slices.Index(args, "--no-auth"); i >= 0 && i+1 < len(args) && args[i+1] == string(config.NoAuthPublic) {
		return nil, config.Usagef("--no-auth public: did you mean --no-auth=public?")
	}
	if err := config.CheckUnsupported(args); err != nil {
		return nil, err
	}
	commands := k.Model.Leaves(true)
	isFirst := func(c *kong.Node) bool { return c.Name == args[0] }
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && !slices.ContainsFunc(commands, isFirst) {
		if err := checkFileName(e, args[0], commands); err != nil {
			return nil, err
		}
	}
	parsed, err := k.Parse(args)
	if helped {
		return nil, nil
	}
	if err != nil {
		return nil, plainUsage(err)
	}
	e.parsed = parsed
	if err := e.CheckRanges(parsed.Flags()); err != nil {
		return nil, err
	}
	selected := parsed.Selected()
	if !slices.Contains(withoutFile, selected.Name) {
		if err := cmp.Or(configErr, e.CheckNames()); err != nil {
			return nil, err
		}
	}
	if selected.Name == "serve" && !slices.Contains(args, "serve") {
		if err := checkFileName(e, g.Serve.File, commands); err != nil {
			return nil, err
		}
	}
	return selected.Target.Addr().Interface().(command), nil
}

// respell returns args with "help" and "--version", as in other programs, in
// the words of the grammar.
func respell(args []string) []string {
	switch {
	case len(args) == 0:
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version", args[0] == "-v":
		return append([]string{"version"}, args[1:]...)
	}
	return args
}

// plainUsage rewords an error of the parser and names the command whose help to read.
func plainUsage(err error) error {
	command := "serve"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context.Selected() != nil {
		command = parse.Context.Selected().Name
	}
	return config.Usagef("%s (see pickup %s --help)", config.Plain(err), command)
}

// checkFileName returns an error if word, an argument without a command, looks like a mistyped
// command: one word, and no file has this name.
func checkFileName(e *environment, word string, commands []*kong.Node) error {
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
	if near := spell.NearFile(word); near != "" && spell.Nearest(word, names) == "" {
		return config.Usagef("unknown command %q; did you mean the file %s?", word, near)
	}
	hint := spell.DidYouMean(word, "the commands", names)
	if spell.Nearest(word, names) == "" {
		hint += "; there is no folder " + word
	}
	return config.Usagef("unknown command %q%s (to create a folder of that name: %s init %s/)",
		word, hint, e.program(), shellWord(word))
}

// withoutFile lists the commands that read no configuration file.
var withoutFile = []string{"passwd", "completion", "version"}

// help prints the help of a command or, without one, the first screen.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if ctx.Selected() == nil {
		_, err := fmt.Fprint(ctx.Stdout, firstScreen)
		return err
	}
	if slices.Contains(withoutFile, ctx.Selected().Name) {
		for _, flag := range ctx.Model.Flags {
			flag.Hidden = flag.Hidden || flag.Name == "config"
		}
	}
	err := kong.DefaultHelpPrinter(options, ctx)
	if err == nil && ctx.Selected().Name == "serve" {
		_, err = fmt.Fprint(ctx.Stdout, serveTail)
	}
	return err
}

// The first screen lists every command and the flags for most people; serveTail follows the
// flags in the help of serve.
var (
	//go:embed help/first.txt
	firstScreen string
	//go:embed help/serve.txt
	serveTail string
)

// topics are the groups of flags in the help of a command.
var topics = []kong.Group{
	{Key: "address", Title: "Address:"},
	{Key: "access", Title: "Who may use the service:"},
	{Key: "file", Title: "The file:"},
	{Key: "cluster", Title: "A database in etcd (see docs/cluster.md):"},
	{Key: "ids", Title: "Ids and references:"},
	{Key: "paths", Title: "Paths and files:"},
	{Key: "simulation", Title: "Slow and failing responses:"},
	{Key: "repetition", Title: "The same at each startup:"},
	{Key: "logs", Title: "Logs and requests:"},
	{Key: "limits", Title: "Limits:"},
	{Key: "json-server", Title: "For users of json-server:"},
}
