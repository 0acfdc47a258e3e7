package main

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A configCommand prints the settings in force as a pickup.toml, with the source of
// each. It prints no secrets.
type configCommand struct {
	fileArgument
	settings
	idConvention
}

func (c *configCommand) run(_ context.Context, e *environment) error {
	if err := c.settings.check(); err != nil {
		return err
	}
	typed := make(map[string]bool)
	for _, p := range e.parsed.Path {
		if p.Flag != nil && !p.Resolved {
			typed[p.Flag.Name] = true
		}
	}
	var b strings.Builder
	print := func(line, source string) { fmt.Fprintf(&b, "%-40s # %s\n", line, source) }
	source := "default"
	switch {
	case c.File != "":
		source = "argument"
	case e.getenv("PICKUP_DB") != "":
		source = "PICKUP_DB"
	case e.config.db() != "":
		source = e.config.name
	}
	print("db = "+strconv.Quote(c.path(e)), source)
	for _, flag := range e.parsed.Flags() {
		variable := flag.Tag.Get("variable")
		if variable == "" {
			continue
		}
		source = "default"
		switch {
		case typed[flag.Name]:
			source = "flag"
		case e.getenv(variable) != "":
			source = variable
		case e.config.values[flag.Name] != nil:
			source = e.config.name
		}
		line := flag.Name + " = " + tomlValue(reflect.ValueOf(e.parsed.FlagValue(flag)))
		if flag.Name == "no-auth" && c.NoAuth == authNeeded {
			line = "no-auth = false"
		}
		print(line, source)
	}
	for _, name := range []string{"PICKUP_USER", "PICKUP_PASSWORD", "PICKUP_PASSWORD_FILE"} {
		state := "not set"
		if e.getenv(name) != "" {
			state = "set"
		}
		fmt.Fprintf(&b, "# %s is %s\n", name, state)
	}
	_, err := fmt.Fprint(e.stdout, b.String())
	return err
}

// tomlValue formats the value of a setting as TOML.
func tomlValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return strconv.Quote(x.String())
	case fmt.Stringer:
		return strconv.Quote(x.String())
	}
	switch v.Kind() {
	case reflect.Bool, reflect.Int, reflect.Uint16:
		return fmt.Sprint(v.Interface())
	case reflect.Slice:
		var all []string
		for i := range v.Len() {
			all = append(all, strconv.Quote(v.Index(i).String()))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return strconv.Quote(v.String())
}
