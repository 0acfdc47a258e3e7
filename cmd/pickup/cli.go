package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"pickup/internal/spell"
)

// A grammar is the command line. A flag's variable gives its value where the
// flag is not set; an empty variable counts as unset.
type grammar struct {
	Serve      serveCommand      `cmd:"" default:"withargs" help:"Serve a JSON file as a REST API. This is what pickup does when no command is named."`
	Check      checkCommand      `cmd:"" help:"Name every fault of a file as FILE:LINE:COLUMN: message."`
	Schema     schemaCommand     `cmd:"" help:"Infer a schema from what a file holds and write it beside it."`
	Health     healthCommand     `cmd:"" help:"Ask a running server whether it is ready."`
	Passwd     passwdCommand     `cmd:"" help:"Print a line for --htpasswd: a user and the hash of a password, which is asked for or read from standard input."`
	Config     configCommand     `cmd:"" help:"Print the settings that are in force, and where each comes from."`
	Completion completionCommand `cmd:"" help:"Print a script that completes the command line in a shell."`
	Version    versionCommand    `cmd:"" help:"Print the version."`

	ConfigFile string `name:"config" placeholder:"FILE" help:"A file with settings, TOML or JSON ($PICKUP_CONFIG; pickup.toml or pickup.json)."`
}

// A fileArgument is the FILE of serve, check and schema.
type fileArgument struct {
	File string `arg:"" optional:"" help:"The database ($PICKUP_DB; db.json)."`
}

// path returns the file that is meant.
func (f fileArgument) path(e *environment) string {
	if f.File != "" {
		return f.File
	}
	if v := cmp.Or(e.getenv("PICKUP_DB"), e.config.db()); v != "" {
		return v
	}
	return "db.json"
}

// An address is where a server listens: serve takes it, health asks there.
type address struct {
	Host string `default:"127.0.0.1" variable:"PICKUP_HOST" placeholder:"ADDRESS" help:"The address to listen on ($PICKUP_HOST; ${default})."`
	Port port   `short:"p" default:"3000" variable:"PICKUP_PORT" placeholder:"PORT" help:"The port; 0 picks a free one ($PICKUP_PORT; ${default})."`
}

// parse returns the command that args ask for. It is nil where the help was
// asked for and has been printed.
func parse(args []string, e *environment) (func(context.Context, *environment) error, error) {
	var g grammar
	helped := false
	config, configErr := readConfig(args, e.getenv)
	if configErr != nil {
		config = &configFile{}
	}
	e.config = config
	k, err := kong.New(&g,
		kong.Name("pickup"),
		kong.Description("pickup serves a JSON file as a REST API and keeps it the user's own file."),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(int) { helped = true }),
		kong.Help(help),
		kong.Resolvers(variables(e.getenv, config)),
	)
	if err != nil {
		return nil, fmt.Errorf("the command line's own grammar: %w", err)
	}
	args = spelled(args)
	parsed, err := k.Parse(args)
	if helped {
		return nil, nil
	}
	if err != nil {
		return nil, usagef("%w (pickup --help lists what there is)", err)
	}
	switch parsed.Selected().Name {
	case "passwd":
		return g.Passwd.run, nil
	case "completion":
		g.Completion.app = k.Model
		return g.Completion.run, nil
	case "version":
		return g.Version.run, nil
	}
	// The others are about a service, and so about its configuration.
	if configErr == nil {
		configErr = config.check(settingNames(k.Model))
	}
	if configErr != nil {
		return nil, configErr
	}
	switch parsed.Selected().Name {
	case "check":
		return g.Check.run, nil
	case "schema":
		return g.Schema.run, nil
	case "config":
		g.Config.parsed = parsed
		return g.Config.run, nil
	case "health":
		return g.Health.run, nil
	}
	if !slices.Contains(args, "serve") {
		if err := noCommand(g.Serve.File, k.Model.Leaves(true)); err != nil {
			return nil, err
		}
	}
	return g.Serve.run, nil
}

// settingNames returns the names that a configuration file may have.
func settingNames(app *kong.Application) (names []string) {
	for _, n := range app.Children {
		for _, f := range n.Flags {
			if f.Tag.Get("variable") != "" {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// variables gives flags the values of their variables, else those of the
// configuration file.
func variables(getenv func(string) string, config *configFile) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := flag.Tag.Get("variable")
		if name == "" {
			return nil, nil
		}
		source := name
		var value any = getenv(name)
		switch {
		case value != "" && flag.IsSlice():
			value = words(getenv(name))
		case value == "":
			v, err := config.value(flag)
			if v == nil || err != nil {
				return nil, err
			}
			value, source = v, config.name
		}
		// It is read once for nothing, so that an error names the variable or
		// the file and not a flag that nobody has typed.
		scratch := reflect.New(flag.Target.Type()).Elem()
		scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})
		if err := flag.Parse(scan, scratch); err != nil {
			return nil, fmt.Errorf("%s: %w", source, cmp.Or(errors.Unwrap(err), err))
		}
		flag.Set = false // the reading for nothing has said otherwise
		if flag.IsBool() && scratch.IsZero() {
			return nil, nil // no is what it is anyway, and contradicts nothing
		}
		return value, nil
	})
}

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

// help prints the help of a command. That of the program is the list of
// commands, then serve's flags (no command means serve) and what no flag says.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil || ctx.Selected() != nil {
		return err
	}
	serve, err := kong.Trace(ctx.Kong, []string{"serve"})
	if err != nil {
		return err
	}
	fmt.Fprintln(ctx.Stdout)
	options.NoAppSummary = true
	if err := kong.DefaultHelpPrinter(options, serve); err != nil {
		return err
	}
	_, err = fmt.Fprint(ctx.Stdout, helpTail)
	return err
}

const helpTail = `
Who may use the service:
  PICKUP_USER             name of the user; pickup where only a password is set
  PICKUP_PASSWORD         the password, or
  PICKUP_PASSWORD_FILE    a file whose first line is the password
  With none of them each start makes a password and prints it.

Exit codes:
  0  stopped as asked, nothing wrong
  1  faults found, or another failure
  2  wrong usage, or not a file
  3  the file is in use by another server
  4  the file does not parse (for check that is a fault)
`
