package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
)

// A schemaFile finds and applies the schema of a database that is served.
type schemaFile struct {
	database string // its path
	store    *filestore.Store
	rules    *schema.Schema // those to open db with
	missing  error          // wraps errMissing, if rules is nil because of it
	db       *database.DB   // nil until it is open
}

// paths returns the path of the schema, "" if the database names no file.
func (s *schemaFile) paths() []string {
	path, _ := schemaPath(s.database, declaredIn(s.store))
	return []string{path}
}

// apply puts the rules of the schema into force; without a schema there are none. Its
// errors about the schema are *schema.Error.
func (s *schemaFile) apply(ctx context.Context, texts [][]byte, err error) error {
	declared := declaredIn(s.store)
	path, unusable := schemaPath(s.database, declared)
	rules, err := compile(s.database, path, declared, texts, cmp.Or(unusable, err))
	if errors.Is(err, errMissing) {
		s.missing, err = err, nil
	}
	switch _, inText := lint.Broken(err); {
	case inText:
		return err
	case err != nil:
		text, _ := os.ReadFile(s.database) // without it the place is 1:1
		f := lint.Finding{Pointer: "/$schema"}.Locate(text)
		return &schema.Error{File: s.database, Line: f.Line, Column: f.Column, Reason: err.Error()}
	case s.db == nil:
		s.rules = rules
		return nil
	}
	if err := s.db.SetSchema(ctx, rules); err != nil {
		return fmt.Errorf("%w: %w", errNotYet, err)
	}
	return nil
}

// kept says which rules are in force while the schema cannot be used.
func (s *schemaFile) kept() string {
	if s.db.Schema() == nil {
		return "there are no rules, and writes are not checked"
	}
	return "the previous rules stay in force"
}

// loadSchema returns the schema of the database at path: the file that its
// "$schema" member declares or, if that is empty, <name>.schema.json. It returns
// nil if there is none. An error about the text is a *schema.Error; one that wraps
// errNotFile says that a URL is declared, which is never fetched, and one that wraps
// errMissing that the declared file does not exist.
func loadSchema(path, declared string) (*schema.Schema, error) {
	file, err := schemaPath(path, declared)
	if err != nil {
		return nil, err
	}
	texts, err := readFiles([]string{file})
	return compile(path, file, declared, texts, err)
}

// compile compiles the text of the schema in file. err says why it cannot be
// read; a schema that is not declared may be missing. Clients see the errors, so they
// name no folder.
func compile(database, file, declared string, texts [][]byte, err error) (*schema.Schema, error) {
	switch e, atFile := errors.AsType[*fs.PathError](err); {
	case err == nil:
		return schema.Compile(file, texts[0])
	case errors.Is(err, fs.ErrNotExist) && declared == "":
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		if near := nearSchema(database, file); near != "" {
			return nil, fmt.Errorf(`"$schema" names %s, which does not exist; did you mean %s?`, filepath.Base(file), filepath.Base(near))
		}
		return nil, fmt.Errorf(`"$schema" names %s, %w`, filepath.Base(file), errMissing)
	case atFile:
		return nil, fmt.Errorf("cannot read the schema %s: %w", filepath.Base(file), e.Err)
	}
	return nil, err
}

// errMissing is the error of a "$schema" that names no existing file, nor one with nearly
// that name.
var errMissing = errors.New("which does not exist")

// nearSchema returns the file that was probably meant by a schema that does not exist,
// or "". The schema of another database was not.
func nearSchema(database, file string) string {
	near := nearFile(file)
	owner := strings.TrimSuffix(near, ".schema.json") + ".json"
	if _, err := os.Stat(owner); err == nil && filepath.Base(owner) != filepath.Base(database) {
		return ""
	}
	return near
}

// errNotFile is the error of a "$schema" that is not the path of a file.
var errNotFile = errors.New("it must be the path of a file, because nothing is fetched")

// schemaPath returns the path of the schema of a database. declared is the value
// of "$schema", a URI reference as editors read it; if it is empty, the schema
// of db.json is db.schema.json.
func schemaPath(database, declared string) (string, error) {
	if declared == "" {
		return strings.TrimSuffix(database, filepath.Ext(database)) + ".schema.json", nil
	}
	u, err := url.Parse(declared)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" {
		return "", fmt.Errorf(`"$schema" is %.100q: %w`, declared, errNotFile)
	}
	path := filepath.FromSlash(u.Path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(database), path)
	}
	return path, nil
}

// declaredIn returns the value of "$schema" in a database, "" unless it is a string.
func declaredIn(store *filestore.Store) string {
	v := store.Value("$schema")
	if v.Kind() != '"' {
		return ""
	}
	return rawjson.Unquote(v)
}
