package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// This file is for the commands that use a FILE.

// isNew reports whether serving path would create a database.
func isNew(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// openFile opens the store of the file at path. Its errors say what was probably meant.
func openFile(ctx context.Context, e *environment, path string, o filestore.Options) (*filestore.Store, error) {
	o.InContainer = e.container
	store, err := filestore.Open(ctx, path, o)
	if err == nil {
		return store, nil
	}
	inside := filepath.Join(path, "db.json")
	if info, err := os.Stat(inside); err == nil && info.Mode().IsRegular() {
		return nil, config.Usagef("%s is a directory; did you mean %s?", path, inside)
	}
	broken, _ := errors.AsType[*storage.BrokenError](err)
	_, hasAdvice := errors.AsType[*storage.AdviceError](err)
	_, noFolder := os.Stat(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && noFolder == nil:
		if near := spell.NearFile(path); near != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, near)
		}
		if !hasAdvice {
			err = fmt.Errorf("%w (to create it: %s init %s)", err, e.program(), shellFile(path))
		}
		err = config.UsageError{Err: err}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, storage.ErrShape):
		err = config.UsageError{Err: err}
	case broken != nil && filepath.Ext(broken.File) == ".json5":
		err = fmt.Errorf("%w (of JSON5, only comments and trailing commas are accepted: npx json5 %s > db.json)", err, shellFile(broken.File))
	}
	return nil, err
}

// realPath returns the absolute path of a file, which need not exist, without links.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// checkSource returns an error if the argument is not a file, as json-server allows.
func checkSource(file string) error {
	switch {
	case etcdstore.IsURL(file):
		file = etcdstore.Redacted(file)
		return config.Usagef("%s is not a file (to make a database in etcd: pickup import db.json %s)", file, shellWord(file))
	case strings.HasPrefix(file, "http://"), strings.HasPrefix(file, "https://"):
		return config.Usagef("%s is not a file: download it first, with curl -o db.json %s", file, shellWord(file))
	case slices.Contains([]string{".js", ".cjs", ".mjs", ".ts"}, filepath.Ext(file)):
		module := file
		if !filepath.IsAbs(file) {
			module = "./" + file
		}
		return config.Usagef("%s is a program: let it write a JSON file, and serve that, as in node -p %s > db.json",
			file, shellWord(`JSON.stringify(require("`+module+`")())`))
	}
	return nil
}

// initial returns the text of a new database: the empty collections of the schema next to
// it or, without one, {}.
func initial(path string) []byte {
	rules, err := lint.LoadSchema(path, "")
	if err != nil || rules == nil { // the service warns about a schema that cannot be used
		return []byte("{}\n")
	}
	file, _ := lint.SchemaPath(path, "")
	lines := []string{`  "$schema": ` + quote(reference(file))}
	for _, name := range rules.Collections() {
		lines = append(lines, "  "+quote(name)+": []")
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n")
}

// quote returns s as a JSON string, with invalid UTF-8 replaced.
func quote(s string) string {
	return string(rawjson.AppendQuote(nil, s))
}

// reference returns the URI reference of a file in the folder of the database.
func reference(file string) string {
	return "./" + (&url.URL{Path: filepath.Base(file)}).EscapedPath()
}

// plainWord matches words that a shell leaves as they are.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+-]+$`)

// shellWord returns s as one word of a POSIX shell.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellFile returns the path of a file as an argument that is not a flag.
func shellFile(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return shellWord(path)
}
