package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Rules are the schema of a database and where it came from.
type rules struct {
	schema *schema.Schema // nil: free-form
	file   string         // the schema's file; "" where there is none
	text   []byte         // what it holds; nil where it cannot be read
	note   string         // why a schema that the database names is not used; "" where none is
}

// loadRules finds the schema of the database in path: the file that its
// "$schema" member names (named; "" where it has none), else
// <name>.schema.json beside it where there is one. It reads files of this
// machine alone: an address on the web is noted and never fetched.
//
// An error says that there should be a schema and that it cannot be used; it
// is a *storage.BrokenError where the file's text is at fault.
func loadRules(path, named string) (rules, error) {
	file, note, ok := schemaPath(path, named)
	if !ok {
		return rules{note: note}, nil
	}
	r := rules{file: file}
	text, err := os.ReadFile(r.file)
	if errors.Is(err, fs.ErrNotExist) && named == "" {
		return rules{}, nil
	}
	if err != nil {
		return rules{file: r.file}, fmt.Errorf("the schema cannot be read: %w", err)
	}
	r.text = text
	r.schema, err = schema.Compile(r.file, text)
	return r, err
}

// schemaPath returns the file in which the schema of the database in path is
// to be found; named is as for loadRules. It reports false, and why, where the
// database names what is no file.
func schemaPath(path, named string) (file, note string, ok bool) {
	if named == "" {
		return besideSchema(path), "", true
	}
	file, err := schemaFile(named)
	if err != nil {
		return "", err.Error(), false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(path), file)
	}
	return file, "", true
}

// besideSchema returns the name that the schema of path has by convention:
// db.schema.json for db.json.
func besideSchema(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".schema.json"
}

// schemaFile returns the file that a "$schema" member means. The member is a
// URI reference, as editors read it.
func schemaFile(reference string) (string, error) {
	u, err := url.Parse(reference)
	if err != nil {
		return "", fmt.Errorf(`"$schema" is %.100q, which names no file beside the database`, reference)
	}
	if u.Scheme != "" || u.Host != "" || u.Path == "" {
		return "", fmt.Errorf(`"$schema" is %.100q; only a file beside the database is read, nothing is fetched`, reference)
	}
	return filepath.FromSlash(u.Path), nil
}

// namedIn returns the text of the "$schema" member, "" where there is none.
func namedIn(snap *database.Snapshot) string {
	if kind, _ := snap.Kind("$schema"); kind != storage.Other {
		return ""
	}
	v, _ := snap.Value("$schema") // nil where there is none, which names nothing
	return named(v)
}

// named returns what the value of "$schema" spells, "" where it is no string.
func named(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	return rawjson.Unquote(v)
}
