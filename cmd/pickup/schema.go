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

	"pickup"
)

// Rules are the schema of a database and where it came from.
type rules struct {
	schema *pickup.Schema // nil: free-form
	file   string         // the schema's file; "" where there is none
	note   string         // why a schema that the database names is not used; "" where none is
}

// loadRules finds the schema of the database in path: the file that its
// "$schema" member names (named; "" where it has none), else
// <name>.schema.json beside it where there is one. It reads files of this
// machine alone: an address on the web is noted and never fetched.
//
// An error says that there should be a schema and that it cannot be used; it
// is a *pickup.BrokenError where the file's text is at fault.
func loadRules(path, named string) (rules, error) {
	r := rules{file: besideSchema(path)}
	if named != "" {
		file, err := schemaFile(named)
		if err != nil {
			return rules{note: err.Error()}, nil
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		r.file = file
	}
	text, err := os.ReadFile(r.file)
	if errors.Is(err, fs.ErrNotExist) && named == "" {
		return rules{}, nil
	}
	if err != nil {
		return rules{file: r.file}, fmt.Errorf("the schema cannot be read: %w", err)
	}
	r.schema, err = pickup.CompileSchema(r.file, text)
	if err != nil {
		return rules{file: r.file}, err
	}
	return r, nil
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

// namedSchema returns the text of the "$schema" member, "" where there is
// none.
func namedSchema(contents []pickup.Collection) string {
	for _, c := range contents {
		if c.Name != "$schema" || c.Kind != pickup.Other || c.Value.Kind() != '"' {
			continue
		}
		text, err := jsontext.AppendUnquote(nil, c.Value)
		if err == nil {
			return string(text)
		}
	}
	return ""
}
