package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// Sources are the sources of settings besides the command line.
type Sources struct {
	Getenv func(string) string // "" if the variable is unset
	File   *File               // not nil
	Used   map[string]string   // the variable or the file with the value of a flag
}

// NewSources returns the variables and the configuration file in args or a variable. With an
// error about the file, the sources have an empty file.
func NewSources(ctx context.Context, args []string, getenv func(string) string) (*Sources, error) {
	file, err := Read(ctx, args, getenv)
	if err != nil {
		file = &File{}
	}
	return &Sources{Getenv: getenv, File: file, Used: make(map[string]string)}, err
}

// Path returns the database of a command with an argument, or with "".
func (s *Sources) Path(argument string) string {
	return cmp.Or(argument, s.Getenv("PICKUP_DB"), s.File.DB(), "db.json")
}

// Resolve returns the value of a flag that is not given: the value of its variable, or else the
// value in the configuration file. Resolve is a kong.ResolverFunc.
func (s *Sources) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	source := flag.Tag.Get("variable")
	if source == "" {
		return nil, nil
	}
	var value any = s.Getenv(source)
	if strings.HasPrefix(s.Getenv(source), "tcp://") && source == "PICKUP_PORT" {
		value = "" // Kubernetes sets the variable for a Service called pickup
	}
	if value != "" && flag.IsSlice() {
		var all []any
		for _, word := range strings.Fields(s.Getenv(source)) {
			all = append(all, word)
		}
		value = all
	} else if value == "" {
		v, err := s.File.value(flag)
		if v == nil || err != nil {
			return nil, err
		}
		value, source = v, s.File.Name
	}
	// Parse once to check, because an error must name the variable or the file, not a flag
	// without a value.
	scratch := reflect.New(flag.Target.Type()).Elem()
	scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})
	if err := flag.Parse(scan, scratch); err != nil {
		return nil, fmt.Errorf("%s: %w", source, cmp.Or(errors.Unwrap(err), err))
	}
	flag.Set = false // Parse has set this
	s.Used[flag.Name] = source
	if flag.IsBool() && scratch.IsZero() {
		return nil, nil // false is the default, and must not count as given
	}
	return value, nil
}

// CheckRanges returns an error if a flag is outside of its range, the least and the
// greatest value. For a time, 0 would disable the limit.
func (s *Sources) CheckRanges(flags []*kong.Flag) error {
	for _, flag := range flags {
		name := "--" + flag.Name
		if source := s.Used[flag.Name]; source != "" {
			name += ": " + source
		}
		d, isTime := flag.Target.Interface().(time.Duration)
		if isTime && d < 10*time.Millisecond && (d != 0 || flag.HasDefault) {
			return Usagef("%s: %v is less than 10ms", name, d)
		}
		least, most := int64(0), int64(math.MaxInt64)
		switch n, _ := fmt.Sscan(flag.Tag.Get("range"), &least, &most); {
		case n == 0 || least <= flag.Target.Int() && flag.Target.Int() <= most:
		case n == 1:
			return Usagef("%s: %d is less than %d", name, flag.Target.Int(), least)
		default:
			return Usagef("%s: %d is not between %d and %d", name, flag.Target.Int(), least, most)
		}
	}
	return nil
}

// CheckNames returns an error if the configuration file has an unknown setting.
func (s *Sources) CheckNames() error {
	if len(s.File.values) == 0 {
		return nil
	}

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

// Settings returns the settings of a serve without arguments, or the error of such a serve.
func (s *Sources) Settings() (*Settings, error) {
	var server Server
	k, err := kong.New(&server, kong.Writers(io.Discard, io.Discard), kong.Resolvers(kong.ResolverFunc(s.Resolve)))
	if err != nil {
		return nil, err
	}
	parsed, err := k.Parse(nil)
	if err != nil {
		return nil, errors.New(Plain(err))
	}
	return &server.Settings, cmp.Or(s.CheckRanges(parsed.Flags()), s.CheckNames(), server.Check())
}
