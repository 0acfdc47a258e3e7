package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"pickup/internal/database"
	"pickup/internal/openfile"
	"pickup/internal/rawjson"
	"pickup/internal/reload"
	"pickup/internal/schema"
	"pickup/internal/spell"
)

// A Schema is the schema file of a served database. Changes of the file are read again.
type Schema struct {
	reload.Files
	Rules   *schema.Schema // to open the database with; nil without any
	Missing error          // the error of a missing declared file, or nil

	path string // of the database
	text Text
	db   *database.DB // nil until Use
}

// NewSchema returns the schema of the database at path.
func NewSchema(path string, text Text) *Schema {
	s := &Schema{path: base(path), text: text}
	s.Files = reload.Files{Name: "schema", Paths: s.paths, Apply: s.apply, Kept: s.kept}
	return s
}

// Use makes the schema put rules into force in db, after Open with Rules.
func (s *Schema) Use(db *database.DB) { s.db = db }

// paths returns the path of the schema, "" if the database names no file.
func (s *Schema) paths() []string {
	path, _ := SchemaPath(s.path, Declared(s.text))
	return []string{path}
}

// apply puts the rules of the schema into force; without a schema, no rules. Errors about the
// schema are *schema.Error.
func (s *Schema) apply(ctx context.Context, texts [][]byte, err error) error {
	declared := Declared(s.text)
	path, unusable := SchemaPath(s.path, declared)
	rules, err := compile(s.path, path, declared, texts, cmp.Or(unusable, err))
	if errors.Is(err, ErrMissing) {
		s.Missing, err = err, nil
	}
	switch _, inText := Broken(err); {
	case inText:
		return err
	case err != nil:
		text, _ := openfile.Read(s.path, math.MaxInt32) // without the text, the place is 1:1
		f := Finding{Pointer: "/$schema"}.Locate(text)
		return &schema.Error{File: s.path, Line: f.Line, Column: f.Column, Reason: err.Error()}
	case s.db == nil:
		s.Rules = rules
		return nil
	}
	if err := s.db.SetSchema(ctx, rules); err != nil {
		return fmt.Errorf("%w: %w", reload.ErrNotYet, err)
	}
	return nil
}

// kept describes the rules in force while the schema cannot be used.
func (s *Schema) kept() string {
	if s.db.Schema() == nil {
		return "there are no rules, and writes are not checked"
	}
	return "the previous rules stay in force"
}

// LoadSchema returns the schema of the database at path: the file in the "$schema" field or, if
// declared is empty, <name>.schema.json. Without a schema, LoadSchema returns nil. An error
// about the text is a *schema.Error. The error wraps ErrNotFile if a URL is declared, because
// nothing is fetched, and ErrMissing if the declared file does not exist.
func LoadSchema(path, declared string) (*schema.Schema, error) {
	file, err := SchemaPath(path, declared)
	if err != nil {
		return nil, err
	}
	texts, err := reload.Read(file)
	return compile(path, file, declared, texts, err)
}

// compile compiles the text of the schema in file. err is the error of reading the file; an
// undeclared schema may be missing. Errors name no folder, because clients see them.
func compile(database, file, declared string, texts [][]byte, err error) (*schema.Schema, error) {
	switch e, atFile := errors.AsType[*fs.PathError](err); {
	case err == nil:
		return schema.Compile(file, texts[0])
	case errors.Is(err, fs.ErrNotExist) && declared == "":
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		if near := nearSchema(database, file); near != "" {
			return nil, fmt.Errorf(`"$schema" names %s, which does not exist; did you mean %s?`,
				filepath.Base(file), filepath.Base(near))
		}
		return nil, fmt.Errorf(`"$schema" names %s, %w`, filepath.Base(file), ErrMissing)
	case atFile:
		return nil, fmt.Errorf("cannot read the schema %s: %w", filepath.Base(file), e.Err)
	}
	return nil, err
}

// ErrMissing is the error of a missing file in "$schema", without a file of a similar name.
var ErrMissing = errors.New("which does not exist")

// nearSchema returns an existing file with a name like the missing schema, or "". The schema of
// another database does not count.
func nearSchema(database, file string) string {
	near := spell.NearFile(file)
	owner := strings.TrimSuffix(near, ".schema.json") + ".json"
	if _, err := os.Stat(owner); err == nil && filepath.Base(owner) != filepath.Base(database) {
		return ""
	}
	return near
}

// ErrNotFile is the error of a "$schema" without the path of a file.
var ErrNotFile = errors.New("it must be the path of a file, because nothing is fetched")

// base returns the path for the name of the schema: db.json for a folder or the file of one
// collection, because these have no "$schema", and otherwise the database.
func base(database string) string {
	if info, err := os.Stat(database); err == nil && info.IsDir() {
		return filepath.Join(database, "db.json")
	}
	f, err := openfile.Open(database)
	if err != nil {
		return database
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 64<<10))
	if rawjson.Begins(text) == '[' {
		return filepath.Join(filepath.Dir(database), "db.json")
	}
	return database
}

// SchemaPath returns the path of the schema of a database. declared is the value of "$schema",
// a URI reference, as for editors. If declared is empty, the schema of db.json, of a folder and
// of the file of one collection is db.schema.json.
func SchemaPath(database, declared string) (string, error) {
	if declared == "" {
		database = base(database)
		return strings.TrimSuffix(database, filepath.Ext(database)) + ".schema.json", nil
	}
	u, err := url.Parse(declared)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" {
		return "", fmt.Errorf(`"$schema" is %.100q: %w`, declared, ErrNotFile)
	}
	path := filepath.FromSlash(u.Path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(database), path)
	}
	return path, nil
}

// Declared returns the value of "$schema" in a database, "" unless it is a string.
func Declared(text Text) string { return rawjson.String(text.Value("$schema")) }
