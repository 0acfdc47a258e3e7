package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"

	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// A File has settings under the names of their flags, and the database under
// "db". It has no passwords.
type File struct {
	Name   string // "" without a file
	text   []byte
	values map[string]any
}

// Read reads the configuration file that args or PICKUP_CONFIG name, or the
// one in the working directory, if any.
func Read(args []string, getenv func(string) string) (*File, error) {
	name := cmp.Or(configNamed(args), getenv("PICKUP_CONFIG"))
	if name == "" {
		var found []string
		for _, n := range []string{"pickup.toml", "pickup.json"} {
			if _, err := os.Stat(n); err == nil {
				found = append(found, n)
			}
		}
		switch len(found) {
		case 0:
			return &File{}, nil
		case 2:
			return nil, Usagef("%s both exist: remove one, or select one with --config", strings.Join(found, " and "))
		}
		name = found[0]
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, FileError("--config", err)
	}
	return Parse(name, text)
}

// Parse parses the text of a configuration file.
func Parse(name string, text []byte) (c *File, err error) {
	c = &File{Name: name, text: text}
	if filepath.Ext(name) == ".json" {
		err = json.Unmarshal(text, &c.values)
	} else {
		err = toml.Unmarshal(text, &c.values)
	}
	if err != nil {
		return nil, Usagef("%s%s: %w", name, configPlace(text, err), err)
	}
	return c, nil
}

// configPlace returns ":LINE:COLUMN" of a syntax error, "" if it is unknown.
func configPlace(text []byte, err error) string {
	var inTOML *toml.DecodeError
	var inJSON *json.SyntaxError
	switch {
	case errors.As(err, &inTOML):
		line, column := inTOML.Position()
		return fmt.Sprintf(":%d:%d", line, column)
	case errors.As(err, &inJSON):
		line, column := rawjson.LineColumn(text, max(0, min(int(inJSON.Offset)-1, len(text))))
		return fmt.Sprintf(":%d:%d", line, column)
	}
	return ""
}

// configNamed returns the value of --config. It precedes the parsing of flags,
// because the file has some of their values.
func configNamed(args []string) string {
	for i, arg := range args {
		if name, ok := strings.CutPrefix(arg, "--config="); ok {
			return name
		}
		if short, ok := strings.CutPrefix(arg, "-c"); ok && short != "" {
			return strings.TrimPrefix(short, "=")
		}
		if (arg == "--config" || arg == "-c") && i+1 < len(args) {
			return args[i+1]
		}
		if arg == "--" {
			break
		}
	}
	return ""
}

// DB returns the database that the file names, "" without one.
func (c *File) DB() string {
	name, _ := c.values["db"].(string)
	return name
}

// value returns the setting of a flag for the parser, nil if the file has none.
func (c *File) value(flag *kong.Flag) (any, error) {
	v, ok := c.values[flag.Name]
	for _, name := range c.aliases(flag) {
		if !ok {
			v, ok = c.values[name]
		}
	}
	if !ok {
		return nil, nil
	}
	_, isTable := v.(map[string]any)
	list, isList := v.([]any)
	if isTable && flag.Name == "routes" || (isTable || isList) && flag.Name == SimulateKey {
		return nil, nil // not the setting: see routeFile and configFile.rules
	}
	if !isList {
		list = []any{v}
	}
	for i, e := range list {
		switch e := e.(type) {
		case string, float64, int64, bool, toml.LocalDate:
			list[i] = fmt.Sprint(e)
		case time.Time:
			list[i] = e.Format(time.RFC3339Nano)
		default:
			return nil, fmt.Errorf("%s: %s must be a string, a number, true or false", c.Name, flag.Name)
		}
	}
	switch {
	case flag.IsSlice():
		return list, nil
	case isList:
		return nil, fmt.Errorf("%s: %s must be a single value", c.Name, flag.Name)
	}
	return list[0], nil
}

// aliases returns the other names of a flag: a JSON file may have those of json-server.
func (c *File) aliases(flag *kong.Flag) []string {
	if filepath.Ext(c.Name) != ".json" {
		return nil
	}
	all := flag.Aliases
	if flag.Tag.Get("variable") == "" && flag.Hidden || flag.Name == "watch" {
		all = append(slices.Clone(all), flag.Name)
	}
	return all
}

// CheckNames returns an error if the file has a name that is not a setting.
func (c *File) CheckNames() error {
	k, err := kong.New(new(Server))
	if err != nil {
		return err
	}
	known := map[string]bool{"db": true}
	for _, f := range k.Model.Flags {
		known[f.Name] = known[f.Name] || f.Tag.Get("variable") != ""
		for _, name := range c.aliases(f) {
			known[name] = true
		}
	}
	unknown := slices.Sorted(maps.Keys(c.values))
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
	line, column := c.place(rawjson.Pointer(unknown[0]))
	return Usagef("%s:%d:%d: unknown setting %q: %s", c.Name, line, column, unknown[0], hint)
}

// CheckSettings returns the longest delay that serve would allow with the file and these
// variables, and why it would refuse the settings, nil if it would not.
func (c *File) CheckSettings(getenv func(string) string) (maxDelay time.Duration, fault *lint.Finding) {
	if c.Name == "" {
		return 0, nil
	}
	s := &Sources{Getenv: getenv, File: c, Used: make(map[string]string)}
	maxDelay = math.MaxInt64 // unknown: no rule is refused for it
	server, err := s.server()
	if err == nil {
		maxDelay, err = server.MaxDelay, server.Settings.Check()
	}
	if err == nil {
		return maxDelay, nil
	}
	return maxDelay, &lint.Finding{File: c.Name, Detail: strings.TrimPrefix(err.Error(), c.Name+": ")}
}

// place returns the line and column to which a pointer leads.
func (c *File) place(pointer string) (line, column int) {
	offset := 0
	if filepath.Ext(c.Name) == ".json" {
		offset = rawjson.Offset(c.text, pointer)
	} else {
		offset = tomlOffset(c.text, pointer)
	}
	return rawjson.LineColumn(c.text, offset)
}
