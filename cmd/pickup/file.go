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
	"runtime"
	"slices"
	"strings"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/filestore/document"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/openfile"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// This file has functions for commands with a FILE.

// isNew reports whether serving path would create a database.
func isNew(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// openFile opens the store of the file at path. The errors suggest a correction.
func openFile(ctx context.Context, e *environment, path string, o filestore.Options) (*filestore.Store, error) {
	o.InContainer = e.container
	o.Private = append(o.Private, e.File.Name)
	if filestore.IsFolder(path) {
		if err := checkFolder(path); err != nil {
			return nil, err
		}
	}
	if isFolderName(path) && (o.MustExist || strings.HasSuffix(filepath.ToSlash(path), "/")) {
		return nil, missingFolder(path)
	}
	store, err := filestore.Open(ctx, path, o)
	if err == nil {
		return store, nil
	}
	_, hasAdvice := errors.AsType[*storage.AdviceError](err)
	isMissing := errors.Is(err, fs.ErrNotExist)
	if _, noFolder := os.Stat(filepath.Dir(path)); isMissing && noFolder == nil {
		if near := spell.NearFile(path); near != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, near)
		}
		if !hasAdvice {
			err = fmt.Errorf("%w (to create it: %s init %s)", err, e.program(), shellFile(path))
		}
	}
	if isMissing || errors.Is(err, storage.ErrShape) {
		err = config.UsageError{Err: err}
	}
	return nil, err
}

// openRuled opens the database of the store of path with the declared schema.
func openRuled(
	ctx context.Context, path string, store *filestore.Store, ids config.IDConvention,
) (*database.DB, error) {
	rules, err := lint.LoadSchema(path, lint.Declared(store))
	if err != nil {
		return nil, err
	}
	return database.Open(ctx, store, ids.Options(rules))
}

// checkFolder returns an error if a directory is not a database.
func checkFolder(path string) error {
	found, other := members(path)
	inside, project := filepath.Join(path, "db.json"), filepath.Join(path, "package.json")
	switch {
	case isFile(inside):
		return config.Usagef("%s is a directory; did you mean %s?", path, inside)
	case isFile(project):
		return config.Usagef("%s is the folder of a project, with a package.json: "+
			"put the files of the database into a folder of their own", path)
	case found == 0 && other != "":
		return config.Usagef("%s is a directory, not a file, and none of its files can be a collection, "+
			"as posts.json can; it has %s", path, other)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// isFolderName reports whether nothing exists at path, and the name has no extension.
func isFolderName(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) && filepath.Ext(path) == ""
}

// missingFolder returns the error of a folder that does not exist. The error suggests a file
// with a similar name.
func missingFolder(path string) error {
	if near := spell.NearFile(path); near != "" {
		return config.Usagef("%s does not exist; did you mean %s?", path, near)
	}
	return config.Usagef("%s does not exist; to serve a folder, create it first: mkdir %s", path, shellFile(path))
}

// members counts the files in a directory that can be collections, and returns the name of a
// file of other programs, or "".
func members(dir string) (n int, other string) {
	entries, _ := os.ReadDir(dir) // later steps report the error
	for _, e := range entries {
		if filestore.MemberOf(e.Name()) != "" && isFile(filepath.Join(dir, e.Name())) {
			n++
		} else if e.Name() != "db.schema.json" && !strings.HasPrefix(e.Name(), ".") {
			other = e.Name()
		}
	}
	return n, other
}

// database returns the path of the database. If the file in PICKUP_DB is missing, as it may be
// in the image, database returns the folder with the files of the collections.
func (e *environment) database(argument string) string {
	path := e.Path(argument)
	if argument == "" && path == e.Getenv("PICKUP_DB") && filepath.Ext(path) != "" && hasMembers(path) {
		return filepath.Dir(path)
	}
	return path
}

// hasMembers reports whether path is missing in a folder of files that can be collections.
func hasMembers(path string) bool {
	_, err := os.Stat(path)
	dir := filepath.Dir(path)
	n, _ := members(dir)
	return errors.Is(err, fs.ErrNotExist) && n > 0 && checkFolder(dir) == nil
}

// folderOf returns the folder of the database.
func folderOf(path string) string {
	path = openfile.Real(path)
	if !filestore.IsFolder(path) {
		path = filepath.Dir(path)
	}
	return path
}

// parseText parses the text of a file. An array is the collection called member.
func parseText(member, name string, text []byte, before *document.Document) (*document.Document, error) {
	if before != nil {
		member = before.Only()
	} else if rawjson.Begins(text) != '[' {
		member = ""
	}
	return document.ParseMember(member, name, text, nil, before)
}

// checkSource returns an error if the argument is not a file, as json-server allows.
func checkSource(file string) error {
	switch {
	case etcdstore.IsURL(file):
		file = etcdstore.Redacted(file)
		return config.Usagef("%s is not a file (to make a database in etcd: pickup import db.json %s)",
			file, shellWord(file))
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

// initial returns the text of a new database, with the empty collections of the schema next to
// the file. Without a schema the text is {}.
func initial(path string) []byte {
	rules, err := lint.LoadSchema(path, "")
	if err != nil || rules == nil { // the service warns about the schema
		return []byte("{}\n")
	}
	file, _ := lint.SchemaPath(path, "")
	lines := []string{`  "$schema": ` + rawjson.Quote(reference(file))}
	for _, name := range rules.Collections() {
		lines = append(lines, "  "+rawjson.Quote(name)+": []")
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n")
}

// reference returns the URI reference of a file in the folder of the database.
func reference(file string) string {
	return "./" + (&url.URL{Path: filepath.Base(file)}).EscapedPath()
}

// plainWord matches words without a special meaning in shells.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+-]+$`)

// shellWord returns s as one word of a POSIX shell, or of the shells of Windows.
func shellWord(s string) string {
	if runtime.GOOS == "windows" {
		return windowsWord(s)
	}
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// windowsWord returns s as one word of cmd and PowerShell; both have double quotes.
func windowsWord(s string) string {
	if plainWord.MatchString(strings.ReplaceAll(s, `\`, "/")) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
}

// shellFile returns the path of a file as an argument, not a flag.
func shellFile(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return shellWord(path)
}

// appendLine appends a line to a text file, and creates a missing file.
func appendLine(name, line string) error {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	line += "\n"
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}
