package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	moduleLine    = regexp.MustCompile(`(?m)^module pickup\b`)
	moduleAddress = regexp.MustCompile(`^[a-z0-9.-]+\.[a-z]+(/[A-Za-z0-9._~-]+)+$`)
	// packagePath matches the module's packages in Go source: imports, strings and what
	// "go test" prints.
	packagePath = regexp.MustCompile(`(["\x60\s]|\\t)pickup/((?:cmd|etcdstore|filestore|internal|server)\b|")`)
)

// rename writes a copy of the repository to dir whose module has another address, so that
// "go install ADDRESS/cmd/pickup@latest" works. The copy has the files that Git tracks.
func (r *release) rename(address, dir string) error {
	if !moduleAddress.MatchString(address) {
		return fmt.Errorf("%q is not the address of a module, such as github.com/name/pickup", address)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: remove it, or choose another DIR", dir)
	}
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = r.root
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}

	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if err := r.copyRenamed(name, address, dir); err != nil {
			return err
		}
	}
	return nil
}

// copyRenamed copies a file to dir, with the address of the module. A file that is deleted
// and not yet committed is left out.
func (r *release) copyRenamed(name, address, dir string) error {
	from := filepath.Join(r.root, name)
	info, err := os.Lstat(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	to := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		return errors.Join(err, os.Symlink(target, to))
	}

	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	switch {
	case filepath.Base(name) == "go.mod":
		text = moduleLine.ReplaceAll(text, []byte("module "+address))
	case filepath.Ext(name) == ".go":
		text = packagePath.ReplaceAll(text, []byte("${1}"+address+"/${2}"))
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}
