package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/etcdstore"
	"pickup/internal/config"
)

// A configCommand prints the settings in force as a pickup.toml, with the source of each, and
// without secrets.
type configCommand struct {
	config.Server
	Changed bool `help:"Leave out settings that have their default."`
}

func (c *configCommand) run(_ context.Context, e *environment) error {
	if err := c.Settings.Check(); err != nil {
		return err
	}
	if _, found := e.File.Rules(&c.Settings); len(found) > 0 {
		return config.Usagef("%s", found[0])
	}
	e.File.HideSecrets()
	rules := e.File.RulesText()
	var b strings.Builder
	c.printDatabase(&b, e)
	c.printFlags(&b, e, rules != "")
	if err := c.RouteFile.Print(&b, e.Sources); err != nil {
		return err
	}
	for _, name := range []string{
		"PICKUP_USER", "PICKUP_PASSWORD", "PICKUP_PASSWORD_FILE", "PICKUP_ETCD_PASSWORD", "PICKUP_ETCD_PASSWORD_FILE",
	} {
		state := "not set"
		if e.Getenv(name) != "" {
			state = "set"
		}
		fmt.Fprintf(&b, "# %s is %s\n", name, state)
	}
	_, err := fmt.Fprint(e.stdout, b.String()+rules)
	return err
}

// printDatabase prints the path of the database and the source of the path.
func (c *configCommand) printDatabase(b *strings.Builder, e *environment) {
	source := ""
	switch {
	case c.File != "":
		source = "argument"
	case e.Getenv("PICKUP_DB") != "":
		source = "PICKUP_DB"
	case e.File.DB() != "":
		source = e.File.Name
	}
	db := e.Path(c.File)
	if etcdstore.IsURL(db) {
		db = etcdstore.Redacted(db)
	}
	c.printSetting(b, "db", db, source)
}

// printFlags prints each flag of serve with the source of the value.
func (c *configCommand) printFlags(b *strings.Builder, e *environment, hasRules bool) {
	for _, p := range e.parsed.Path {
		if p.Flag != nil && !p.Resolved {
			e.Used[p.Flag.Name] = "flag"
		}
	}
	for _, flag := range e.parsed.Flags() {
		value := flag.Target.Interface()
		if flag.Tag.Get("variable") == "" || flag.Name == "routes" && c.Routes == "" || value == (*uint64)(nil) {
			continue
		}
		if value == config.AuthNeeded {
			value = false
		}
		if flag.Name == config.SimulateKey && hasRules {
			b.WriteString("# ") // the array of rules has the same name
		}
		c.printSetting(b, flag.Name, value, e.Used[flag.Name])
	}
}

// printSetting prints a setting as a line of TOML.
func (c *configCommand) printSetting(b *strings.Builder, name string, value any, source string) {
	if c.Changed && source == "" {
		return
	}
	if s, ok := value.(fmt.Stringer); ok {
		value = s.String()
	}
	text := []byte("[]")
	if list, ok := value.([]string); !ok || list != nil {
		text, _ = json.Marshal(value) // a string, a number, a boolean or a list of strings
	}
	// The JSON of these types is TOML, but TOML also escapes DEL.
	_ = (*jsontext.Value)(&text).Format(jsontext.SpaceAfterComma(true))
	setting := name + " = " + strings.ReplaceAll(string(text), "\x7f", `\u007f`)
	fmt.Fprintf(b, "%-40s # %s\n", setting, cmp.Or(source, "default"))
}
