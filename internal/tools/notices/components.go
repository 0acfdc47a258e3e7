package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// viewerVersion is the version of swagger-ui-dist, which makes the page of the API.
const viewerVersion = "5.35.0"

// components returns what the program contains on any of platforms: itself, Go,
// modules, and npm packages.
func components() ([]component, error) {
	all, err := modules()
	if err != nil {
		return nil, err
	}
	root := all[slices.IndexFunc(all, func(c component) bool { return c.kind == "program" })].dir
	packages, err := pagePackages(filepath.Join(root, "server/page"))
	if err != nil {
		return nil, err
	}
	viewer := component{kind: "npm", name: "swagger-ui-dist", version: viewerVersion, dir: filepath.Join(root, "server/docs")}
	all = append(append(all, packages...), viewer)
	for i := range all {
		if err := all[i].read(); err != nil {
			return nil, fmt.Errorf("%s %s: %w", all[i].name, all[i].version, err)
		}
	}
	slices.SortFunc(all, func(a, b component) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.name, b.name))
	})
	return all, nil
}

// modules returns the modules with a package in the program, the main module and the
// standard library included.
func modules() ([]component, error) {
	format := "{{if .Module}}{{.Module.Path}}\t{{.Module.Version}}\t{{.Module.Dir}}{{else if eq .ImportPath `runtime`}}" +
		"std\t" + strings.TrimPrefix(runtime.Version(), "go") + "\t{{.Root}}{{end}}"
	var lines []string
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		list := exec.Command("go", "list", "-deps", "-tags", "nomsgpack,grpcnotrace", "-f", format, "pickup/cmd/pickup")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
		list.Stderr = os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		lines = append(lines, strings.Split(string(out), "\n")...)
	}
	var all []component
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		fields := strings.Split(line, "\t")
		switch {
		case len(fields) < 3: // another package of the standard library
		case fields[1] == "":
			all = append(all, component{kind: "program", name: fields[0], dir: fields[2]})
		default:
			all = append(all, component{kind: "golang", name: fields[0], version: fields[1], dir: fields[2]})
		}
	}
	return all, nil
}

// pagePackages returns the npm packages that the page in dir contains. Its build
// writes their names and licences.
func pagePackages(dir string) ([]component, error) {
	text, err := os.ReadFile(filepath.Join(dir, "dist/LICENSES.txt"))
	if err != nil {
		return nil, err
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var locked struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(lock, &locked); err != nil {
		return nil, err
	}
	var all []component
	for line := range strings.Lines(string(text)) {
		name := strings.TrimSpace(line)
		if p, ok := locked.Packages["node_modules/"+name]; ok {
			all = append(all, component{kind: "npm", name: name, version: p.Version, texts: []string{""}})
		} else if len(all) > 0 {
			all[len(all)-1].texts[0] += line
		}
	}
	return all, nil
}

var (
	licenseFile = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying`)
	noticeFile  = regexp.MustCompile(`(?i)licen[cs]e|^copying|notice|^patents$`)
)

// read reads the licences and notices of c, unless they are known, and identifies its
// licence.
func (c *component) read() (err error) {
	licenses := strings.Join(c.texts, "")
	if c.dir != "" {
		files, err := os.ReadDir(c.dir)
		if err != nil {
			return err
		}
		for _, file := range files {
			if file.IsDir() || !noticeFile.MatchString(file.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(c.dir, file.Name()))
			if err != nil {
				return err
			}
			c.texts = append(c.texts, string(text))
			if licenseFile.MatchString(file.Name()) {
				licenses += string(text)
			}
		}
	}
	c.license, err = identify(licenses)
	return err
}
