package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pickup/filestore"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// This file has what the commands share that use the FILE of their arguments.

// A fileArgument is the FILE of serve, check, schema and config.
type fileArgument struct {
	File string `arg:"" optional:"" help:"The JSON file to use, or a database in etcd, as in etcd://10.0.0.1:2379,10.0.0.2:2379/family ($PICKUP_DB; db.json)."`
}

// path returns the file to use.
func (f fileArgument) path(e *environment) string {
	if f.File != "" {
		return f.File
	}
	if v := cmp.Or(e.getenv("PICKUP_DB"), e.config.db()); v != "" {
		return v
	}
	return "db.json"
}

// isNew reports whether serving path would create a database.
func isNew(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// checkExists returns an error if there is no file at path, or a directory with a
// db.json. Opening path reports other directories, and that its directory is missing.
func checkExists(e *environment, path string) error {
	inside := filepath.Join(path, "db.json")
	if info, err := os.Stat(inside); err == nil && info.Mode().IsRegular() {
		return usagef("%s is a directory; did you mean %s?", path, inside)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return nil
	}
	hint := ""
	if near := nearFile(path); near != "" {
		hint = "; did you mean " + near + "?"
	}
	if copied, of := filestore.ConflictCopy(path); copied != "" {
		return usagef("%s does not exist; an earlier version is in %s: rename it to %s, or move it away to begin anew%s", path, copied, of, hint)
	}
	return usagef("%s does not exist%s (to create it: %s init %s)", path, hint, e.program(), shellFile(path))
}

// nearFile returns the file in the folder of path that was probably meant, or "".
func nearFile(path string) string {
	folder, base := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Dir(path)) // without it there is no hint
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	near := spell.Nearest(base, names)
	if name := strings.TrimSuffix(base, filepath.Ext(base)) + ".json"; near == "" && slices.Contains(names, name) {
		near = name
	}
	if near == "" {
		return ""
	}
	return folder + near
}

// fileError returns an error about a file that a flag names.
func fileError(flag string, err error) error {
	var failed *fs.PathError
	switch {
	case !errors.As(err, &failed):
		return usagef("%s: %w", flag, err)
	case errors.Is(err, fs.ErrNotExist):
		return usagef("%s: %s does not exist", flag, failed.Path)
	}
	return usagef("%s: cannot read %s: %w", flag, failed.Path, failed.Err)
}

// openError returns the error of a file that cannot be opened as wrong usage if
// what was named is not a file.
func openError(err error) error {
	if errors.Is(err, storage.ErrShape) || errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	if broken, ok := errors.AsType[*storage.BrokenError](err); ok && filepath.Ext(broken.File) == ".json5" {
		return fmt.Errorf("%w (of JSON5, only comments and trailing commas are accepted: npx json5 %s > db.json)", err, shellFile(broken.File))
	}
	return err
}

// realPath returns the absolute path of a file without links, or path if it cannot be
// found out.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}
