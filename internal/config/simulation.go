package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pelletier/go-toml/v2"

	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/server/simulate"
)

// Simulation is the settings of simulated responses.
type Simulation struct {
	Simulate string         `enum:"auto,on,off" default:"auto" variable:"PICKUP_SIMULATE" placeholder:"on|off" help:"Let requests and rules ask for slow, failing and fixed responses (on, but off with --no-auth=public)."`
	Delay    simulate.Range `short:"d" variable:"PICKUP_DELAY" placeholder:"MS" help:"Respond after this many milliseconds, such as 500, or after a time in a range, such as 200-800."`
	MaxDelay time.Duration  `default:"60s" variable:"PICKUP_MAX_DELAY" placeholder:"TIME" help:"Longest delay or hold (${default}). Longer ones are refused with 400."`
}

// SimulateKey is the name of the rules in a configuration file.
const SimulateKey = "simulate"

// Rules returns the simulation rules in the file, and the faults in the rules.
func (c *File) Rules(s *Settings) ([]*simulate.Stub, []lint.Finding) {
	switch c.values[SimulateKey].(type) {
	case []any:
	case map[string]any:
		return nil, []lint.Finding{c.finding("", "rules are an array: in TOML each begins with [[simulate]]")}
	default:
		return nil, nil
	}
	text, err := json.Marshal(c.values[SimulateKey])
	if err != nil {
		return nil, []lint.Finding{c.finding("", "rules hold JSON values only: "+err.Error())}
	}
	rules, errs := simulate.Parse(text, s.MaxDelay, s.NoAuth == AuthNeeded)
	if len(errs) == 0 {
		if n, size := simulate.Size(rules); n > simulate.MaxStubs || size > simulate.MaxBodies {
			detail := fmt.Sprintf("there can be %d rules with bodies of %d MiB together",
				simulate.MaxStubs, simulate.MaxBodies>>20)
			errs = []simulate.Error{{Detail: detail}}
		}
	}
	var found []lint.Finding
	for _, f := range errs {
		found = append(found, c.finding(f.Pointer, f.Detail))
	}
	slices.SortStableFunc(found, lint.Finding.Compare)
	return rules, found
}

// finding returns a fault in the rules of the file, with the place.
func (c *File) finding(pointer, detail string) lint.Finding {
	f := lint.Finding{File: c.Name, Pointer: rawjson.Pointer(SimulateKey) + pointer, Detail: detail}
	if tokens := rawjson.SplitPointer(pointer); len(tokens) > 1 {
		f.Detail = tokens[1] + ": " + detail
	}
	f.Line, f.Column = c.place(f.Pointer)
	return f
}

// HideSecrets hides possible secrets in the rules' patterns of requests.
func (c *File) HideSecrets() {
	rules, _ := c.values[SimulateKey].([]any)
	for _, rule := range rules {
		table, _ := rule.(map[string]any)
		for _, name := range []string{"query", "where"} {
			if s, ok := table[name].(string); ok {
				table[name] = simulate.Hide("", s)
			}
		}
		headers, _ := table["request-headers"].(map[string]any)
		for name, pattern := range headers {
			headers[name] = simulate.Hide(name, fmt.Sprint(pattern))
		}
	}
}

// RulesText returns the rules in the file as TOML, "" without rules.
func (c *File) RulesText() string {
	value, ok := c.values[SimulateKey].([]any)
	if !ok {
		return ""
	}
	text, err := toml.Marshal(map[string]any{SimulateKey: value})
	if err != nil {
		return "" // the parser made the same types
	}
	return fmt.Sprintf("\n# %s\n%s", cmp.Or(c.Name, "default"), text)
}
