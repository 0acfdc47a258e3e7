package spell

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NearFile returns the file in the folder of path that was probably meant, or "".
func NearFile(path string) string {
	folder, base := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Dir(path)) // without it there is no hint
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	near := Nearest(base, names)
	if name := strings.TrimSuffix(base, filepath.Ext(base)) + ".json"; near == "" && slices.Contains(names, name) {
		near = name
	}
	if near == "" {
		return ""
	}
	return folder + near
}

// Printable returns a name for a terminal. It quotes control characters, so that a
// name in a file cannot move the cursor.
func Printable(name string) string {
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Sprintf("%q", name)
	}
	return name
}
