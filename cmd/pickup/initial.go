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

// initial returns what a database begins with where the file is missing or
// empty: the collections that the schema beside it names, else schedules and
// drivers. It is laid out as a person would.
func initial(path string) []byte {
	names := []string{"schedules", "drivers"}
	var lines []string
	// A schema that cannot be used is warned about when the database is open.
	if r, err := loadRules(path, ""); err == nil && r.schema != nil {
		names = r.schema.Collections()
		lines = append(lines, member("$schema", quote(reference(r.file))))
	}
	for _, name := range names {
		lines = append(lines, member(name, "[]"))
	}
	if len(lines) == 0 {
		return []byte("{}\n")
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n")
}

// isNew reports whether serving path would begin a new database.
func isNew(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

func member(name, value string) string { return "  " + quote(name) + ": " + value }

// quote returns s as a JSON string. What is no UTF-8 in it is replaced.
func quote(s string) string {
	text, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	return string(text)
}

// reference returns the URI reference by which an editor finds a file that
// lies beside the database.
func reference(file string) string {
	return "./" + (&url.URL{Path: filepath.Base(file)}).EscapedPath()
}
