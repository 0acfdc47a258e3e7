package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"
)

// A grammar is the command line. A flag's variable gives its value where the
// flag is not set; an empty variable counts as unset.
type grammar struct {
	Serve   serveCommand   `cmd:"" default:"withargs" help:"Serve a JSON file as a REST API. This is what pickup does when no command is named."`
	Check   checkCommand   `cmd:"" help:"Name every fault of a file as FILE:LINE:COLUMN: message."`
	Schema  schemaCommand  `cmd:"" help:"Infer a schema from what a file holds and write it beside it."`
	Health  healthCommand  `cmd:"" help:"Ask a running server whether it is ready."`
	Version versionCommand `cmd:"" help:"Print the version."`
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
	if v := e.getenv("PICKUP_DB"); v != "" {
		return v
	}
	return "db.json"
}

// An address is where a server listens: serve takes it, health asks there.
type address struct {
	Host string `default:"127.0.0.1" variable:"PICKUP_HOST" placeholder:"ADDRESS" help:"The address to listen on ($PICKUP_HOST; ${default})."`
	Port uint16 `short:"p" default:"3000" variable:"PICKUP_PORT" placeholder:"PORT" help:"The port; 0 picks a free one ($PICKUP_PORT; ${default})."`
}

// parse returns the command that args ask for. It is nil where the help was
// asked for and has been printed.
func parse(args []string, e *environment) (func(context.Context, *environment) error, error) {
	var g grammar
	helped := false
	k, err := kong.New(&g,
		kong.Name("pickup"),
		kong.Description("pickup serves a JSON file as a REST API and keeps it the user's own file."),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(int) { helped = true }),
		kong.Help(help),
		kong.Resolvers(variables(e.getenv)),
	)
	if err != nil {
		return nil, fmt.Errorf("the command line's own grammar: %w", err)
	}
	parsed, err := k.Parse(args)
	if helped {
		return nil, nil
	}
	if err != nil {
		return nil, usagef("%w (pickup --help lists what there is)", err)
	}
	switch parsed.Selected().Name {
	case "check":
		return g.Check.run, nil
	case "schema":
		return g.Schema.run, nil
	case "health":
		return g.Health.run, nil
	case "version":
		return g.Version.run, nil
	}
	return g.Serve.run, nil
}

// variables gives flags the values of their variables.
func variables(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := flag.Tag.Get("variable")
		if name == "" || getenv(name) == "" {
			return nil, nil
		}
		// It is read once for nothing, so that an error names the variable and
		// not a flag that nobody has typed.
		scratch := reflect.New(flag.Target.Type()).Elem()
		scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: getenv(name)})
		if err := flag.Parse(scan, scratch); err != nil {
			return nil, fmt.Errorf("%s: %w", name, cmp.Or(errors.Unwrap(err), err))
		}
		return getenv(name), nil
	})
}
