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
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"
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

// Sources are where settings come from that are not on the command line.
type Sources struct {
	Getenv func(string) string // "" if the variable is unset
	File   *File               // not nil
	Used   map[string]string   // the variable or the file that has the value of a flag
}

// NewSources returns the variables and the configuration file that args or a variable
// name. If the file cannot be used, the sources have an empty one, next to the error.
func NewSources(args []string, getenv func(string) string) (*Sources, error) {
	file, err := Read(args, getenv)
	if err != nil {
		file = &File{}
	}
	return &Sources{Getenv: getenv, File: file, Used: make(map[string]string)}, err
}

// Resolve returns the value of a flag that is not given: the value of its variable, or
// else the value in the configuration file. It is a kong.ResolverFunc.
func (s *Sources) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	source := flag.Tag.Get("variable")
	if source == "" {
		return nil, nil
	}
	var value any = s.Getenv(source)
	switch {
	case value != "" && flag.IsSlice():
		value = words(s.Getenv(source))
	case value == "":
		v, err := s.File.value(flag)
		if v == nil || err != nil {
			return nil, err
		}
		value, source = v, s.File.Name
	}
	// Parse once to check, so that an error names the variable or the file and
	// not a flag that was not typed.
	scratch := reflect.New(flag.Target.Type()).Elem()
	scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})
	if err := flag.Parse(scan, scratch); err != nil {
		return nil, fmt.Errorf("%s: %w", source, cmp.Or(errors.Unwrap(err), err))
	}
	flag.Set = false // Parse has set it
	s.Used[flag.Name] = source
	if flag.IsBool() && scratch.IsZero() {
		return nil, nil // false is the default, and must not count as given
	}
	return value, nil
}

// words returns the space-separated values of a variable.
func words(text string) []any {
	var all []any
	for _, w := range strings.Fields(text) {
		all = append(all, w)
	}
	return all
}

// CheckRanges returns an error if a flag is outside of its range, the least and the
// greatest value. For a time, 0 would disable the limit.
func (s *Sources) CheckRanges(flags []*kong.Flag) error {
	for _, flag := range flags {
		name := "--" + flag.Name
		if source := s.Used[flag.Name]; source != "" {
			name += ": " + source
		}
		if d, ok := flag.Target.Interface().(time.Duration); ok && d < 10*time.Millisecond && (d != 0 || flag.HasDefault) {
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
	if err := cmp.Or(s.CheckRanges(parsed.Flags()), s.File.CheckNames()); err != nil {
		return nil, err
	}
	return &server, nil
}

// Plain returns the message of an error of the parser in our words.
func Plain(err error) string {
	text := err.Error()
	for _, w := range plainWords {
		text = w.parser.ReplaceAllString(text, w.ours)
	}
	return text
}

var plainWords = []struct {
	parser *regexp.Regexp
	ours   string
}{
	{regexp.MustCompile(`^expected "(<.*>)"`), `missing $1`},
	{regexp.MustCompile(`: expected \S+ value but got .*`), ` needs a value`},
	{regexp.MustCompile(`expected a valid \d+ bit int but got (".*")`), `$1 is not a whole number`},
	{regexp.MustCompile(`expected duration but got (".*?").*`), `$1 is not a time such as 30s or 5m`},
	{regexp.MustCompile(`^unexpected argument \S+\.json$`), `$0: there can be only one file`},
	{regexp.MustCompile(`^(unknown flag -\w), did you mean .*`), `$1`}, // any letter is as near as another
	{regexp.MustCompile(`^(unknown flag \S+), did you mean `), `$1; did you mean `},
	{regexp.MustCompile(`"(--[\w-]+)"`), `$1`},
}

// A UsageError is about the flags, the variables or the files that they name.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef formats a UsageError.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// FileError returns an error about a file that a flag names.
func FileError(flag string, err error) error {
	var failed *fs.PathError
	switch {
	case !errors.As(err, &failed):
		return Usagef("%s: %w", flag, err)
	case errors.Is(err, fs.ErrNotExist):
		return Usagef("%s: %s does not exist", flag, failed.Path)
	}
	return Usagef("%s: cannot read %s: %w", flag, failed.Path, failed.Err)
}
