package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// A configFile has settings under the names of their flags, and the database under
// "db". It has no passwords.
type configFile struct {
	name   string // "" without a file
	text   []byte
	values map[string]any
}

// readConfig reads the configuration file that args or PICKUP_CONFIG name, or the
// one in the working directory, if any.
func readConfig(args []string, getenv func(string) string) (*configFile, error) {
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
			return &configFile{}, nil
		case 2:
			return nil, usagef("%s both exist: remove one, or select one with --config", strings.Join(found, " and "))
		}
		name = found[0]
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fileError("--config", err)
	}
	return parseConfig(name, text)
}

// parseConfig parses the text of a configuration file.
func parseConfig(name string, text []byte) (c *configFile, err error) {
	c = &configFile{name: name, text: text}
	if filepath.Ext(name) == ".json" {
		err = json.Unmarshal(text, &c.values)
	} else {
		err = toml.Unmarshal(text, &c.values)
	}
	if err != nil {
		return nil, usagef("%s%s: %w", name, configPlace(text, err), err)
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

// db returns the database that the file names, "" without one.
func (c *configFile) db() string {
	name, _ := c.values["db"].(string)
	return name
}

// value returns the setting of a flag for the parser, nil if the file has none.
func (c *configFile) value(flag *kong.Flag) (any, error) {
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
	if isTable && flag.Name == "routes" || (isTable || isList) && flag.Name == simulateKey {
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
			return nil, fmt.Errorf("%s: %s must be a string, a number, true or false", c.name, flag.Name)
		}
	}
	switch {
	case flag.IsSlice():
		return list, nil
	case isList:
		return nil, fmt.Errorf("%s: %s must be a single value", c.name, flag.Name)
	}
	return list[0], nil
}

// aliases returns the other names of a flag: a JSON file may have those of json-server.
func (c *configFile) aliases(flag *kong.Flag) []string {
	if filepath.Ext(c.name) != ".json" {
		return nil
	}
	all := flag.Aliases
	if flag.Tag.Get("variable") == "" && flag.Hidden || flag.Name == "watch" {
		all = append(slices.Clone(all), flag.Name)
	}
	return all
}

// check returns an error if the file has a name that is not a setting of app.
func (c *configFile) check(app *kong.Application) error {
	known := map[string]bool{"db": true}
	for _, node := range app.Children {
		for _, f := range node.Flags {
			known[f.Name] = known[f.Name] || f.Tag.Get("variable") != ""
			for _, name := range c.aliases(f) {
				known[name] = true
			}
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
	return usagef("%s:%d:%d: unknown setting %q: %s", c.name, line, column, unknown[0], hint)
}

// checkSettings returns the longest delay that serve would allow with the file and these
// variables, and why it would refuse the settings, nil if it would not.
func (c *configFile) checkSettings(getenv func(string) string) (maxDelay time.Duration, fault *lint.Finding) {
	if c.name == "" {
		return 0, nil
	}
	e := &environment{getenv: getenv, sources: make(map[string]string), stdout: io.Discard, stderr: io.Discard}
	command, err := parse([]string{"config", "--config", c.name}, e)
	maxDelay = math.MaxInt64 // unknown: no rule is refused for it
	if config, ok := command.(*configCommand); ok {
		maxDelay, err = config.MaxDelay, config.settings.check()
	}
	if err == nil {
		return maxDelay, nil
	}
	detail := strings.TrimSuffix(strings.TrimPrefix(err.Error(), c.name+": "), " (see pickup config --help)")
	return maxDelay, &lint.Finding{File: c.name, Detail: detail}
}

// place returns the line and column to which a pointer leads.
func (c *configFile) place(pointer string) (line, column int) {
	offset := 0
	if filepath.Ext(c.name) == ".json" {
		offset = rawjson.Offset(c.text, pointer)
	} else {
		offset = tomlOffset(c.text, pointer)
	}
	return rawjson.LineColumn(c.text, offset)
}

// tomlOffset returns the index of the key, the table or the element that pointer
// leads to, or of the nearest one around it.
func tomlOffset(text []byte, pointer string) int {
	places := make(map[string]int)
	tomlKeys(text, func(pointer string, offset int, _ *unstable.Node) {
		if _, known := places[pointer]; !known {
			places[pointer] = offset
		}
	})
	for tokens := rawjson.SplitPointer(pointer); ; tokens = tokens[:len(tokens)-1] {
		if offset, ok := places[rawjson.Pointer(tokens...)]; ok || len(tokens) == 0 {
			return offset
		}
	}
}

// tomlKeys calls yield with the pointer and the offset of each key and of each element of
// an array, in the order of a TOML document that parses. The value is nil for a table,
// and for all but the last part of a dotted key.
func tomlKeys(text []byte, yield func(pointer string, offset int, value *unstable.Node)) {
	tables := make(map[string]int) // in each array so far
	// keys returns the pointer of the keys of n below at.
	keys := func(at string, n *unstable.Node) string {
		for key := n.Key(); key.Next(); {
			at += rawjson.Pointer(string(key.Node().Data))
			offset := int(key.Node().Raw.Offset)
			if n.Kind == unstable.KeyValue && key.IsLast() {
				yield(at, offset, n.Value())
				break
			}
			yield(at, offset, nil)
			if n.Kind == unstable.ArrayTable && key.IsLast() {
				tables[at]++
			}
			if i := tables[at] - 1; i >= 0 {
				at += "/" + strconv.Itoa(i)
				yield(at, offset, nil)
			}
		}
		return at
	}
	var visit func(at string, value *unstable.Node)
	visit = func(at string, value *unstable.Node) {
		i := 0
		for children := value.Children(); children.Next(); i++ {
			switch child := children.Node(); {
			case child.Kind == unstable.KeyValue:
				visit(keys(at, child), child.Value())
			case value.Kind == unstable.Array:
				element := at + "/" + strconv.Itoa(i)
				if child.Raw.Length > 0 {
					yield(element, int(child.Raw.Offset), child)
				}
				visit(element, child)
			}
		}
	}
	var p unstable.Parser
	table := ""
	for p.Reset(text); p.NextExpression(); {
		if e := p.Expression(); e.Kind == unstable.KeyValue {
			visit(keys(table, e), e.Value())
		} else {
			table = keys("", e)
		}
	}
}
