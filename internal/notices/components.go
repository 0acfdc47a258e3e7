package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// command runs the go command in the current directory and returns its output.
func command(env []string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// components returns what the program in the repository at root contains on any of
// the platforms: itself, Go, modules, and npm packages.
func components(root string, platforms []string) ([]component, error) {
	all, err := modules(root, platforms)
	if err != nil {
		return nil, err
	}
	library, err := standardLibrary()
	if err != nil {
		return nil, err
	}
	viewer, err := viewerPackage(filepath.Join(root, "server/docs"))
	if err != nil {
		return nil, err
	}
	packages, err := pagePackages(filepath.Join(root, "server/page"))
	if err != nil {
		return nil, err
	}
	all = append(append(all, library, viewer), packages...)
	slices.SortFunc(all, component.compare)
	return all, nil
}

// modules returns the modules with a package in the program, the main module included.
func modules(root string, platforms []string) ([]component, error) {
	versions := make(map[string][2]string) // by path: version and directory
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		out, err := command([]string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch}, "list", "-C", root, "-deps", "-tags", "nomsgpack,grpcnotrace",
			"-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}", "./cmd/pickup")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			if fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(fields) == 3 {
				versions[fields[0]] = [2]string{fields[1], fields[2]}
			}
		}
	}
	var all []component
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		c := component{kind: "golang", name: path, version: versions[path][0]}
		if c.version == "" {
			c.kind = "program"
		}
		if err := c.read(versions[path][1]); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// standardLibrary returns the part of Go that each program contains.
func standardLibrary() (component, error) {
	out, err := command(nil, "env", "GOVERSION", "GOROOT")
	if err != nil {
		return component{}, err
	}
	fields := strings.Split(out, "\n")
	c := component{kind: "golang", name: "std", version: strings.TrimPrefix(fields[0], "go")}
	return c, c.read(fields[1])
}

// viewerPackage returns the npm package whose files are in dir and make the page of
// the API.
func viewerPackage(dir string) (component, error) {
	c := component{kind: "npm", name: "swagger-ui-dist"}
	file, err := os.Open(filepath.Join(dir, "swagger-ui-bundle.js.gz"))
	if err != nil {
		return c, err
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return c, err
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		return c, err
	}
	version := regexp.MustCompile(`PACKAGE_VERSION:"([^"]+)"`).FindSubmatch(text)
	if version == nil {
		return c, fmt.Errorf("read %s: it has no PACKAGE_VERSION", file.Name())
	}
	c.version = string(version[1])
	return c, c.read(dir)
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
		if p, ok := locked.Packages["node_modules/"+name]; ok && name != "" {
			all = append(all, component{kind: "npm", name: name, version: p.Version, texts: []string{""}})
		} else if len(all) == 0 {
			return nil, fmt.Errorf("read dist/LICENSES.txt: it begins with %q, which is not a package of package-lock.json", name)
		} else {
			all[len(all)-1].texts[0] += line
		}
	}
	for i := range all {
		if all[i].license, err = identify(all[i].texts[0]); err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].name, err)
		}
	}
	return all, nil
}

var (
	licenseFile = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying`)
	noticeFile  = regexp.MustCompile(`(?i)licen[cs]e|^copying|notice|^patents$`)
)

// read adds the licences and notices in the root of a module or package to c.
func (c *component) read(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	licenses := ""
	for _, path := range files {
		if info, err := os.Stat(path); err != nil || info.IsDir() || !noticeFile.MatchString(filepath.Base(path)) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		c.texts = append(c.texts, string(text))
		if licenseFile.MatchString(filepath.Base(path)) {
			licenses += string(text)
		}
	}
	if c.license, err = identify(licenses); err != nil {
		return fmt.Errorf("%s %s in %s: %w", c.name, c.version, dir, err)
	}
	return nil
}
