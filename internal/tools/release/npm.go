package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A program is a binary that GoReleaser has built, as dist/artifacts.json lists it.
type program struct {
	Name, Path, Type string
	Goos, Goarch     string
}

// npm makes a package for each program in dist, and adds the packages to the
// checksums.
func (r *release) npm() error {
	dist := filepath.Join(r.root, "dist")
	var metadata struct{ Version string }
	var artifacts, programs []program
	if err := errors.Join(readJSON(filepath.Join(dist, "metadata.json"), &metadata), readJSON(filepath.Join(dist, "artifacts.json"), &artifacts)); err != nil {
		return err
	}
	r.version = metadata.Version
	for _, a := range artifacts {
		if a.Type == "Binary" {
			programs = append(programs, a)
		}
	}
	packages, err := r.npmPackages(dist, programs)
	if err != nil {
		return err
	}
	sums, err := os.OpenFile(filepath.Join(dist, "checksums.txt"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer sums.Close()
	slices.Sort(packages) // GoReleaser lists the programs in any order
	for _, path := range packages {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(sums, "%x  %s\n", sha256.Sum256(text), filepath.Base(path)); err != nil {
			return err
		}
	}
	return sums.Close()
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// A manifest is a package.json.
type manifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	Keywords             []string          `json:"keywords,omitempty"`
	Homepage             string            `json:"homepage"`
	License              string            `json:"license"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Exports              json.RawMessage   `json:"exports,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"` // a binary cannot run out of a zip file
	Repository           map[string]string `json:"repository"`
	PublishConfig        map[string]string `json:"publishConfig"` // packages with a scope are private by default
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// npmSource has the files of the package with the command, with a package.json without
// what a release adds.
const npmSource = "packaging/npm"

// npmNames are the names of systems and processors in Node.js.
var npmNames = map[string]string{"windows": "win32", "amd64": "x64"}

func npmName(name string) string {
	if n, ok := npmNames[name]; ok {
		return n
	}
	return name
}

// npmPackages makes a package for each program, and one that depends on them and has
// the command. npm installs the one whose os and cpu are those of the machine, so no
// script has to run. It returns the paths of the packages, which are in dir.
func (r *release) npmPackages(dir string, programs []program) ([]string, error) {
	public := map[string]string{"access": "public"}
	if strings.Contains(r.version, "-") {
		public["tag"] = "next" // or npm does not publish a pre-release
	}
	repository := map[string]string{"type": "git", "url": "git+" + r.url + ".git"}
	var main manifest
	if err := readJSON(filepath.Join(r.root, npmSource, "package.json"), &main); err != nil {
		return nil, err
	}
	main.Name, main.Version, main.License, main.Homepage = "@"+r.owner+"/pickup", r.version, "MIT", r.url
	main.Bin = map[string]string{"pickup": "bin/pickup.js"}
	main.Repository = repository
	main.PublishConfig = public
	main.OptionalDependencies = make(map[string]string)
	licenses := []entry{{name: "LICENSE", from: "LICENSE"}, {name: "THIRD_PARTY_NOTICES", from: "build/THIRD_PARTY_NOTICES"}}
	pack := func(suffix string, m manifest, t time.Time, entries ...entry) (string, error) {
		path := filepath.Join(dir, fmt.Sprintf("%s-pickup%s-%s.tgz", r.owner, suffix, r.version)) // as npm pack names it
		return path, r.npmPackage(path, m, t, append(entries, licenses...))
	}
	var paths []string
	var built time.Time // the time of the commit, see mod_timestamp in .goreleaser.yaml
	for _, p := range programs {
		platform := npmName(p.Goos) + "-" + npmName(p.Goarch)
		m := manifest{
			Name: main.Name + "-" + platform, Version: r.version, License: "MIT", Homepage: r.url, Repository: repository,
			Description: fmt.Sprintf("The program of %s for %s", main.Name, platform),
			OS:          []string{npmName(p.Goos)}, CPU: []string{npmName(p.Goarch)}, PreferUnplugged: true, PublishConfig: public,
		}
		main.OptionalDependencies[m.Name] = r.version
		info, err := os.Stat(filepath.Join(r.root, p.Path))
		if err != nil {
			return nil, err
		}
		built = info.ModTime()
		path, err := pack("-"+platform, m, built, entry{name: "bin/" + p.Name, from: p.Path, mode: 0o755})
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	entries := []entry{
		{name: "bin/pickup.js", from: npmSource + "/bin/pickup.js", mode: 0o755},
		{name: "README.md", from: "build/packaging/npm/README.md"},
	}
	modules, err := filepath.Glob(filepath.Join(r.root, npmSource, "*.*mts"))
	if err != nil {
		return nil, err
	}
	scripts, err := filepath.Glob(filepath.Join(r.root, npmSource, "*.mjs"))
	if err != nil {
		return nil, err
	}
	for _, module := range append(modules, scripts...) {
		name := filepath.Base(module)
		entries = append(entries, entry{name: name, from: npmSource + "/" + name})
	}
	path, err := pack("", main, built, entries...)
	return append(paths, path), err
}

// An entry is a file in a package, a copy of another one.
type entry struct {
	name string
	from string // in the repository
	mode int64  // 0644 by default
}

// npmPackage makes a package whose files have the time t.
func (r *release) npmPackage(path string, m manifest, t time.Time, entries []entry) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, e := range append([]entry{{name: "package.json"}}, entries...) {
		if e.from != "" {
			if text, err = os.ReadFile(filepath.Join(r.root, e.from)); err != nil {
				return err
			}
		}
		h := &tar.Header{Name: "package/" + e.name, Mode: cmp.Or(e.mode, 0o644), Size: int64(len(text)), ModTime: t, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
