package main

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// initial returns the text of a new database: empty collections, those of the
// schema beside it or else schedules and drivers.
func initial(path string) []byte {
	names := []string{"schedules", "drivers"}
	var lines []string
	// openDatabase warns about a schema that cannot be used.
	if rules, err := loadSchema(path, ""); err == nil && rules != nil {
		file, _ := schemaPath(path, "")
		names = rules.Collections()
		lines = append(lines, member("$schema", quote(reference(file))))
	}
	for _, name := range names {
		lines = append(lines, member(name, "[]"))
	}
	if len(lines) == 0 {
		return []byte("{}\n")
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n")
}

// isNew reports whether serving path would create a database.
func isNew(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

func member(name, value string) string { return "  " + quote(name) + ": " + value }

// quote returns s as a JSON string, with invalid UTF-8 replaced.
func quote(s string) string {
	text, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	return string(text)
}

// reference returns the URI reference of a file in the folder of the database.
func reference(file string) string {
	return "./" + (&url.URL{Path: filepath.Base(file)}).EscapedPath()
}
