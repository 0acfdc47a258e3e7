package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/goreleaser/nfpm/v2/files"
	"gopkg.in/yaml.v3"
)

// A config is the part of GoReleaser's configuration that this program carries out.
// Keys are documented at GoReleaser; those of publishing have no effect here.
type config struct {
	Version     int
	ProjectName string `yaml:"project_name"`
	Before      struct{ Hooks []string }
	Builds      []struct {
		Main, Binary         string
		Env, Goos, Goarch    []string
		Flags, Tags, Ldflags []string
		ModTimestamp         string `yaml:"mod_timestamp"`
	}
	Archives []struct {
		NameTemplate    string `yaml:"name_template"`
		WrapInDirectory bool   `yaml:"wrap_in_directory"`
		Formats         []string
		FormatOverrides []struct {
			Goos    string
			Formats []string
		} `yaml:"format_overrides"`
		Files []string
	}
	NFPMs         []linuxPackage
	HomebrewCasks []caskConfig `yaml:"homebrew_casks"`
	SBOMs         []struct {
		Cmd       string
		Args      []string
		Env       []string
		Documents []string
		Artifacts string
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
	}
	Changelog struct{ Disable bool }
	Release   struct{ Draft bool }
}

type linuxPackage struct {
	PackageName      string `yaml:"package_name"`
	FileNameTemplate string `yaml:"file_name_template"`
	Formats          []string
	Homepage, Vendor string
	Maintainer       string
	Description      string
	License, Section string
	Bindir, Mtime    string
	Contents         files.Contents
	Scripts          struct{ PostInstall, PreRemove string }
}

type caskConfig struct {
	Name, Homepage, Description string
	URL                         struct{ Template string }
	Repository                  struct{ Owner, Name string }
	Hooks                       struct{ Post struct{ Install string } }
}

// readConfig reads a configuration. It refuses keys that config does not have.
func readConfig(path string) (c config, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// expand executes a template of the configuration. variables are pairs of a name and
// a value.
func (r *release) expand(text string, variables ...string) (string, error) {
	data := map[string]any{
		"Version":         r.version,
		"CommitTimestamp": strconv.FormatInt(r.time.Unix(), 10),
		"CommitDate":      r.time.Format(time.RFC3339),
		"Env":             map[string]string{"OWNER": r.owner, "URL": r.url},
	}
	for i := 0; i < len(variables); i += 2 {
		data[variables[i]] = variables[i+1]
	}
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, data)
	return b.String(), err
}

// expandAll is expand for each text of a list.
func (r *release) expandAll(texts []string, variables ...string) ([]string, error) {
	all := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if all[i], err = r.expand(text, variables...); err != nil {
			return nil, err
		}
	}
	return all, nil
}
