package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A manifest is a package.json.
type manifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	Keywords             []string          `json:"keywords,omitempty"`
	Homepage             string            `json:"homepage"`
	License              string            `json:"license"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"` // a binary cannot run out of a zip file
	Repository           map[string]string `json:"repository"`
	PublishConfig        map[string]string `json:"publishConfig"` // packages with a scope are private by default
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

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
// script has to run.
func (r *release) npmPackages(programs []program) error {
	public := map[string]string{"access": "public"}
	if strings.Contains(r.version, "-") {
		public["tag"] = "next" // or npm does not publish a pre-release
	}
	repository := map[string]string{"type": "git", "url": "git+" + r.url + ".git"}
	main := manifest{
		Name: "@" + r.owner + "/pickup", Version: r.version, License: "MIT", Homepage: r.url, Repository: repository,
		Description:          "Serves a JSON file as a REST API and writes every change back into it",
		Keywords:             []string{"json", "rest", "api", "mock", "server", "json-server", "database"},
		Bin:                  map[string]string{"pickup": "bin/pickup.js"},
		PublishConfig:        public,
		Engines:              map[string]string{"node": ">=18"},
		OptionalDependencies: make(map[string]string),
	}
	for _, p := range programs {
		platform := npmName(p.os) + "-" + npmName(p.arch)
		m := manifest{
			Name: main.Name + "-" + platform, Version: r.version, License: "MIT", Homepage: r.url, Repository: repository,
			Description: fmt.Sprintf("The program of %s for %s", main.Name, platform),
			OS:          []string{npmName(p.os)}, CPU: []string{npmName(p.arch)}, PreferUnplugged: true, PublishConfig: public,
		}
		main.OptionalDependencies[m.Name] = r.version
		text, err := os.ReadFile(p.path)
		if err != nil {
			return err
		}
		if err := r.npmPackage("-"+platform, m, entry{"bin/" + p.name(), 0o755, text}); err != nil {
			return err
		}
	}
	shim, err := r.read("packaging/npm/pickup.js", "packaging/npm/README.md")
	if err != nil {
		return err
	}
	readme, err := r.expand(string(shim[1].text))
	if err != nil {
		return err
	}
	return r.npmPackage("", main, entry{"bin/pickup.js", 0o755, shim[0].text}, entry{"README.md", 0o644, []byte(readme)})
}

// npmPackage makes a package with the given files, named as npm pack does.
func (r *release) npmPackage(suffix string, m manifest, files ...entry) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	licenses, err := r.read("LICENSE", "THIRD_PARTY_NOTICES")
	if err != nil {
		return err
	}
	all := append([]entry{{"package.json", 0o644, append(text, '\n')}}, append(licenses, files...)...)
	for i := range all {
		all[i].name = "package/" + all[i].name
	}
	return packTar(filepath.Join(r.out, fmt.Sprintf("%s-pickup%s-%s.tgz", r.owner, suffix, r.version)), all, r.time)
}
