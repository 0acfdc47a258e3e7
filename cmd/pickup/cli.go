package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"
)

// A grammar is the command line. A flag's variable gives its value where the
// flag is not set; an empty variable counts as unset.
type grammar struct {
	Serve      serveCommand      `cmd:"" default:"withargs" help:"Serve a JSON file as a REST API. This is what pickup does when no command is named."`
	Check      checkCommand      `cmd:"" help:"Name every fault of a file as FILE:LINE:COLUMN: message."`
	Health     healthCommand     `cmd:"" help:"Ask a running server whether it is ready."`
	Passwd     passwdCommand     `cmd:"" help:"Print a line for --htpasswd: a user and the hash of a password, which is asked for or read from standard input."`
	Config     configCommand     `cmd:"" help:"Print the settings that are in force, and where each comes from."`
	Completion completionCommand `cmd:"" help:"Print a script that completes the command line in a shell."`
	Version    versionCommand    `cmd:"" help:"Print the version."`

	ConfigFile string `name:"config" placeholder:"FILE" help:"A file with settings, TOML or JSON ($PICKUP_CONFIG; pickup.toml or pickup.json)."`
}

// A fileArgument is the FILE of serve and check.
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
