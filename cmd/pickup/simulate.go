package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/pelletier/go-toml/v2"

	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/server"
	"pickup/server/simulate"
)

// simulation is the settings of simulated answers.
type simulation struct {
	Simulate string         `enum:"auto,on,off" default:"auto" variable:"PICKUP_SIMULATE" placeholder:"on|off" help:"Let requests and rules ask for slow, failing and fixed answers (on, but off with --no-auth=public)."`
	Delay    simulate.Range `short:"d" variable:"PICKUP_DELAY" placeholder:"MS" help:"Answer after so many milliseconds, as in 500, or after a time in a range, as in 200-800."`
	MaxDelay time.Duration  `default:"60s" variable:"PICKUP_MAX_DELAY" placeholder:"TIME" help:"Longest delay or hold (${default}); 400 above."`
}

// simulateKey is the name of the rules in a configuration file.
const simulateKey = "simulate"

// check returns an error if the settings contradict each other.
func (s *simulation) check() error {
	if s.Delay.Max > s.MaxDelay {
		return usagef("--delay: %s is longer than --max-delay, which is %v", s.Delay, s.MaxDelay)
	}
	return nil
}

// readRules reads the rules for simulated answers in the configuration file, and
// watches them.
func (s *service) readRules(ctx context.Context) error {
	config := s.env.config
	if s.NoAuth == noAuthPublic && s.Simulate == "auto" {
		if s.Delay.Max > 0 || config.rulesText() != "" {
			s.notices = append(s.notices, warning("answers are not simulated, because everyone can reach the server; --simulate=on allows it."))
		}
		return nil
	}
	if s.Simulate == "off" {
		return nil
	}
	s.simulated = &server.Simulation{Rules: new(simulate.Rules), Delay: s.Delay, MaxDelay: s.MaxDelay}
	if seed := s.seed(); seed != nil {
		s.simulated.Dice = simulate.Seeded(*seed)
	}
	if s.Delay.Max > 0 {
		s.notices = append(s.notices, note("every answer is delayed by %s ms (--delay).", s.Delay))
	}
	if config.name == "" {
		return nil
	}
	last := ""
	rules := newReloadable("rules of "+filepath.Base(config.name), "the previous rules stay in force", func(texts [][]byte) error {
		now, err := parseConfig(config.name, texts[0])
		if err != nil {
			return err
		}
		list, found := now.rules(s.MaxDelay)
		if len(found) > 0 {
			return usagef("%s", found[0])
		}
		// Other settings may have changed. The counts of the rules go on then.
		text := fmt.Sprint(now.values[simulateKey])
		if text == last {
			return errUnchanged
		}
		s.simulated.Rules.Set(list)
		last = text
		return nil
	}, config.name)
	if err := rules.load(ctx); err != nil {
		return err
	}
	if n, _ := s.simulated.Rules.Size(); n > 0 {
		s.notices = append(s.notices, note("%s of %s may simulate answers.", spell.Count(n, "rule"), config.name))
	}
	s.reloadables = append(s.reloadables, rules)
	return nil
}

// rules returns the rules for simulated answers in the file, and what is wrong with
// them.
func (c *configFile) rules(maxDelay time.Duration) ([]*simulate.Rule, []lint.Finding) {
	switch c.values[simulateKey].(type) {
	case []any:
	case map[string]any:
		return nil, []lint.Finding{c.finding("", "rules are an array: in TOML each begins with [[simulate]]")}
	default:
		return nil, nil
	}
	text, err := json.Marshal(c.values[simulateKey])
	if err != nil {
		return nil, []lint.Finding{c.finding("", "rules hold JSON values only: "+err.Error())}
	}
	rules, errs := simulate.Parse(text, maxDelay)
	if len(errs) == 0 {
		if n, size := simulate.Size(rules); n > simulate.MaxRules || size > simulate.MaxBodies {
			errs = []simulate.Error{{Detail: fmt.Sprintf("there can be %d rules with bodies of %d MiB together", simulate.MaxRules, simulate.MaxBodies>>20)}}
		}
	}
	var found []lint.Finding
	for _, f := range errs {
		found = append(found, c.finding(f.Pointer, f.Detail))
	}
	slices.SortStableFunc(found, lint.Finding.Compare)
	return rules, found
}

// checkRules returns what is wrong with the rules in the file, and which of them can never
// match.
func (c *configFile) checkRules(maxDelay time.Duration) []lint.Finding {
	rules, found := c.rules(maxDelay)
	if len(found) == 0 {
		for _, f := range simulate.Unreachable(rules) {
			found = append(found, c.finding(f.Pointer, f.Detail))
		}
	}
	return found
}

// finding returns what is wrong with the rules of the file, with its place.
func (c *configFile) finding(pointer, detail string) lint.Finding {
	f := lint.Finding{File: c.name, Pointer: rawjson.Pointer(simulateKey) + pointer, Detail: detail}
	if tokens := rawjson.SplitPointer(pointer); len(tokens) > 1 {
		f.Detail = tokens[1] + ": " + detail
	}
	f.Line, f.Column = c.place(f.Pointer)
	return f
}

// rulesText returns the rules in the file as TOML, "" if there are none.
func (c *configFile) rulesText() string {
	value, ok := c.values[simulateKey].([]any)
	if !ok {
		return ""
	}
	text, err := toml.Marshal(map[string]any{simulateKey: value})
	if err != nil {
		return "" // it has been parsed from the same types
	}
	return fmt.Sprintf("\n# %s\n%s", cmp.Or(c.name, "default"), text)
}
