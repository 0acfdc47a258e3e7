package config

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"

	"pickup/internal/openfile"
	"pickup/internal/rawjson"
)

// A File has settings under the names of flags, and the database under "db". A File has no
// passwords.
type File struct {
	Name   string // "" without a file
	text   []byte
	values map[string]any
	once   bool // the text came from a pipe
}

// Read reads the configuration file in args or PICKUP_CONFIG, or else in the working directory,
// if any. If the named file is a pipe, Read waits for the text until ctx is done.
func Read(ctx context.Context, args []string, getenv func(string) string) (*File, error) {
	name := cmp.Or(configNamed(args), getenv("PICKUP_CONFIG"))
	if name == "" {
		found := slices.DeleteFunc([]string{"pickup.toml", "pickup.json"}, func(n string) bool {
			_, err := os.Stat(n)
			return err != nil
		})
		switch len(found) {
		case 0:
			return &File{}, nil
		case 2:
			return nil, Usagef("%s both exist: remove one, or select one with --config", strings.Join(found, " and "))
		}
		text, err := openfile.Read(found[0], openfile.MaxSize)
		if err != nil {
			return nil, fileError("--config", err)
		}
		return Parse(found[0], text)
	}
	text, again, err := openfile.ReadOnce(ctx, name, openfile.MaxSize)
	if err != nil {
		return nil, fileError("--config", err)
	}
	c, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	c.once = !again
	return c, nil
}

// Once returns the text of a file from a pipe, for reload.Files, and
// otherwise nil.
func (c *File) Once() [][]byte {
	if !c.once {
		return nil
	}
	return [][]byte{c.text}
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
		return nil, Usagef("%s%s: %w%s", name, configPlace(text, err), err, quotesHint(text, err))
	}
	answer, _ := c.values["answer"].(map[string]any)
	for name, value := range answer { // the names of flags
		c.values["answer-"+name] = value
		delete(c.values, "answer")
	}
	return c, nil
}

// configPlace returns ":LINE:COLUMN" of a syntax error, "" if unknown.
func configPlace(text []byte, err error) string {
	var inTOML *toml.DecodeError
	var inJSON *json.SyntaxError
	if errors.As(err, &inTOML) {
		line, column := inTOML.Position()
		return fmt.Sprintf(":%d:%d", line, column)
	}
	if errors.As(err, &inJSON) {
		line, column := rawjson.LineColumn(text, max(0, min(int(inJSON.Offset)-1, len(text))))
		return fmt.Sprintf(":%d:%d", line, column)
	}
	return ""
}

// quotesHint explains a TOML error in a line such as "db = family.json".
func quotesHint(text []byte, err error) string {
	inTOML, ok := errors.AsType[*toml.DecodeError](err)
	if !ok {
		return ""
	}
	line, _ := inTOML.Position()
	if !bareText.Match(bytes.Split(text, []byte("\n"))[line-1]) {
		return ""
	}
	return `; a text needs quotes, as in db = "family.json"`
}

var bareText = regexp.MustCompile(`^[^=#]*=\s*[A-Za-z./]`)

// configNamed returns the value of --config. Flags are parsed later, because the file has
// values of flags.
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

// DB returns the database in the file, or "".
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
		return nil, nil // not the setting: see RouteFile and File.Rules
	}
	if !isList {
		list = []any{v}
	}
	for i, e := range list {
		switch e := e.(type) {
		case string, int64, bool, toml.LocalDate:
			list[i] = fmt.Sprint(e)
		case float64:
			list[i] = strconv.FormatFloat(e, 'f', -1, 64)
		case time.Time:
			list[i] = e.Format(time.RFC3339Nano)
		default:
			return nil, fmt.Errorf("%s: %s must be a string, a number, true or false", c.Name, flag.Name)
		}
	}
	if flag.IsSlice() {
		return list, nil
	}
	if isList {
		return nil, fmt.Errorf("%s: %s must be a single value", c.Name, flag.Name)
	}
	return list[0], nil
}

// aliases returns the other names of a flag: a JSON file may use the names of json-server.
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

// place returns the line and column of a pointer's value.
func (c *File) place(pointer string) (line, column int) {
	offset := 0
	if filepath.Ext(c.Name) == ".json" {
		offset = rawjson.Offset(c.text, pointer)
	} else {
		offset = tomlOffset(c.text, pointer)
	}
	return rawjson.LineColumn(c.text, offset)
}
