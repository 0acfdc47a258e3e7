package main

import (
	"context"
	"path/filepath"
	"sync/atomic"

	"pickup/internal/config"
	"pickup/internal/reload"
	"pickup/internal/rewrite"
	"pickup/internal/spell"
	"pickup/server"
	"pickup/server/simulate"
)

// This file loads the files that are reloaded after changes, except the schema.

// readUsers reads the users, and finds out whether other machines can reach the service.
func (s *service) readUsers(ctx context.Context) (err error) {
	if s.loopback, err = config.OnlyLoopback(s.Host); err != nil {
		return err
	}
	if s.NoAuth == config.NoAuthLocal && !s.loopback {
		name := "--no-auth"
		if variable := "PICKUP_NO_AUTH"; s.env.Used["no-auth"] == variable {
			name = variable
		}
		return config.Usagef("%s requires a loopback address, and %s is not one: "+
			"set PICKUP_PASSWORD, or use %s=public to let everyone in", name, s.Host, name)
	}
	if s.NoAuth == config.AuthNeeded {
		s.users, err = config.ReadCredentials(ctx, s.env.Getenv, s.Htpasswd)
	}
	if s.users.Htpasswd != nil {
		s.reloadables = append(s.reloadables, s.users.Htpasswd)
	}
	return err
}

func (s *service) readCertificate(ctx context.Context) error {
	tls, files, err := s.Transport.Config(ctx)
	s.tls = tls
	if files != nil {
		s.reloadables = append(s.reloadables, files)
	}
	return err
}

// readRoutes reads and watches the file of routes.
func (s *service) readRoutes(ctx context.Context) error {
	file := s.Routing.Name(s.env.Sources)
	if file == "" {
		return nil
	}
	var now atomic.Pointer[rewrite.Table]
	r := reload.New("routes", "the previous routes stay in force", func(texts [][]byte) error {
		table, err := s.Routing.Table(s.env.Sources, texts[0])
		if err != nil {
			return err
		}
		if now.Swap(table).Equal(table) {
			return reload.ErrUnchanged
		}
		return nil
	}, file)
	if s.Routes == "" {
		r.Once = s.env.File.Once()
	}
	if err := r.Load(ctx); err != nil {
		return config.UsageError{Err: err}
	}
	if table := now.Load(); table != nil {
		routes := spell.Count(len(table.Lines()), "route")
		s.note("paths are rewritten by %s in %s.", routes, file)
	}
	s.routes = now.Load
	s.reloadables = append(s.reloadables, r)
	return nil
}

// readRules reads and watches the simulation rules in the configuration file.
func (s *service) readRules(ctx context.Context) error {
	file := s.env.File
	if s.NoAuth == config.NoAuthPublic && s.Simulate == "auto" {
		if s.Delay.Max > 0 || file.RulesText() != "" {
			s.warn("responses are not simulated, because anyone can reach the server; " +
				"--simulate=on allows it.")
		}
		return nil
	}
	if s.Simulate == "off" {
		return nil
	}
	s.simulated = &server.Simulation{Stubs: new(simulate.Stubs), Delay: s.Delay, MaxDelay: s.MaxDelay}
	if s.Seed != nil {
		s.simulated.Dice = simulate.Seeded(*s.Seed)
	}
	if s.Delay.Max > 0 {
		s.note("every response is delayed by %s ms (--delay).", s.Delay)
	}
	if file.Name == "" {
		return nil
	}
	last := ""
	rules := reload.New("rules of "+filepath.Base(file.Name), "the previous rules stay in force", func(texts [][]byte) error {
		now, err := config.Parse(file.Name, texts[0])
		if err != nil {
			return err
		}
		list, found := now.Rules(&s.Settings)
		if len(found) > 0 {
			return config.Usagef("%s", found[0])
		}
		// Other settings may have changed. The counts of the rules go on then.
		text := now.RulesText()
		if text == last {
			return reload.ErrUnchanged
		}
		s.simulated.Stubs.Set(list)
		last = text
		return nil
	}, file.Name)
	rules.Once = file.Once()
	if err := rules.Load(ctx); err != nil {
		return err
	}
	if n, _ := s.simulated.Stubs.Size(); n > 0 {
		s.note("%s has %s for simulated responses.", file.Name, spell.Count(n, "rule"))
	}
	s.reloadables = append(s.reloadables, rules)
	return nil
}
