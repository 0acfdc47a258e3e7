// Package config has the settings of a server: their flags, variables and names in a
// configuration file, the rules that they follow, and the files that they name.
//
// [Server] is everything that serve accepts, and settings.go lists most of it.
// Credentials, TLS, routes, simulated answers and limits are each in the file of that
// name. [Sources] finds the value of a flag that is not on the command line, and
// [File] is a pickup.toml or pickup.json.
package config

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// A Server is what serve and config accept: the database and the settings.
type Server struct {
	FileArgument
	Settings
	IDConvention
}

// A FileArgument is the FILE of a command.
type FileArgument struct {
	File string `arg:"" optional:"" help:"The JSON file to use, or a database in etcd, as in etcd://10.0.0.1:2379,10.0.0.2:2379/family ($PICKUP_DB; db.json)."`
}

// Path returns the file to use.
func (f FileArgument) Path(s *Sources) string {
	return cmp.Or(f.File, s.Getenv("PICKUP_DB"), s.File.DB(), "db.json")
}

// CheckNames returns an error if the configuration file has a name that is not a setting.
func (s *Sources) CheckNames() error {
	k, err := kong.New(new(Server))
	if err != nil {
		return err
	}
	known := map[string]bool{"db": true}
	for _, f := range k.Model.Flags {
		known[f.Name] = known[f.Name] || f.Tag.Get("variable") != ""
		for _, name := range s.File.aliases(f) {
			known[name] = true
		}
	}
	unknown := slices.Sorted(maps.Keys(s.File.values))
	unknown = slices.DeleteFunc(unknown, func(name string) bool { return known[name] })
	if len(unknown) == 0 {
		return nil
	}
	hint := "pickup serve --help lists all settings"
	if near := spell.Nearest(unknown[0], slices.Sorted(maps.Keys(known))); near != "" {
		hint = "did you mean " + near + "?"
	}
	if slices.Contains(unknown, "password") || slices.Contains(unknown, "user") {
		hint = "passwords belong in PICKUP_PASSWORD_FILE or, hashed, in the htpasswd file"
	}
	if instead := unsupported[unknown[0]]; instead != "" {
		hint = instead
	}
	line, column := s.File.place(rawjson.Pointer(unknown[0]))
	return Usagef("%s:%d:%d: unknown setting %q: %s", s.File.Name, line, column, unknown[0], hint)
}

// CheckSettings returns the longest delay that serve would allow with these sources, and
// why it would refuse the settings, nil if it would not.
func (s *Sources) CheckSettings() (maxDelay time.Duration, fault *lint.Finding) {
	if s.File.Name == "" {
		return 0, nil
	}
	maxDelay = math.MaxInt64 // unknown: no rule is refused for it
	server, err := s.server()
	if err == nil {
		maxDelay, err = server.MaxDelay, server.Settings.Check()
	}
	if err == nil {
		return maxDelay, nil
	}
	return maxDelay, &lint.Finding{File: s.File.Name, Detail: strings.TrimPrefix(err.Error(), s.File.Name+": ")}
}

// server returns the settings of a server without arguments, checked except for what
// they name outside of the program.
func (s *Sources) server() (*Server, error) {
	var server Server
	k, err := kong.New(&server, kong.Writers(io.Discard, io.Discard), kong.Resolvers(kong.ResolverFunc(s.Resolve)))
	if err != nil {
		return nil, err
	}
	parsed, err := k.Parse(nil)
	if err != nil {
		return nil, errors.New(Plain(err))
	}
	if err := cmp.Or(s.CheckRanges(parsed.Flags()), s.CheckNames()); err != nil {
		return nil, err
	}
	return &server, nil
}
