// Package static finds the file that a URL names in a folder, and decides whether the file may
// be served.
//
// A file is opened within the folder, by a path without links. A private file is not served.
// Private files are compared by path, because an editor may be replacing a file, and by
// identity, because a file may have several names.
package static

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"pickup/internal/openfile"
	"pickup/server/openapi"
)

// FileName returns the name of the file at an escaped path. The name of a folder ends in a
// slash. FileName refuses the names of hidden files, and names that some system reads as
// another file or as several files.
func FileName(escaped string) (name string, ok bool) {
	if escaped == "/" {
		return "./", true
	}
	var parts []string
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSuffix(escaped, "/"), "/"), "/") {
		part, err := url.PathUnescape(part)
		if err != nil || !isPortable(part) || isHidden(part) {
			return "", false
		}
		parts = append(parts, part)
	}
	if strings.HasSuffix(escaped, "/") {
		parts = append(parts, "")
	}
	return strings.Join(parts, "/"), true
}

// isPortable reports whether a name means the same single file on all systems.
func isPortable(name string) bool {
	odd := func(c rune) bool { return c < ' ' || c == 0x7f || strings.ContainsRune(`/\:*?"<>|`, c) }
	return name != "" && utf8.ValidString(name) && strings.TrimRight(name, ". ") == name &&
		!strings.ContainsFunc(name, odd)
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// Open opens a public file of a folder. Given the name of a folder with an index.html, but
// without the final slash, Open returns the folder.
func Open(dir, name string, private []string) (*os.File, os.FileInfo, error) {
	if folder, ok := strings.CutSuffix(name, "/"); ok {
		name = folder + "/index.html"
	}
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(base, filepath.FromSlash(name)))
	if err != nil {
		return nil, nil, err
	}
	name, err = filepath.Rel(base, real)
	if err != nil {
		return nil, nil, err
	}
	parts := strings.Split(name, string(filepath.Separator))
	if !filepath.IsLocal(name) || slices.ContainsFunc(parts, isHidden) || isPrivatePath(real, private) {
		return nil, nil, os.ErrNotExist
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	file, info, err := openPublic(root, name, privateFiles(private))
	if err != nil || !info.IsDir() {
		return file, info, err
	}

	index, _, err := Open(dir, name+"/index.html", private)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	index.Close()
	return file, info, nil
}

// isPrivatePath reports whether a path without links leads to a private file, to the conflict
// copy of a private file (see package filestore), or into a private folder. Only the path
// identifies a file that is being replaced.
func isPrivatePath(real string, names []string) bool {
	real = strings.ToLower(openfile.Real(real)) // case counts on some systems only
	return slices.ContainsFunc(names, func(name string) bool {
		rest, ok := strings.CutPrefix(real, strings.ToLower(openfile.Real(name)))
		return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasPrefix(rest, ".conflict-"))
	})
}

// openPublic opens a file of root, unless the file is private.
func openPublic(root *os.Root, name string, private []os.FileInfo) (*os.File, os.FileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return nil, nil, os.ErrNotExist
	}
	file, err := openfile.OpenIn(root, name)
	if err != nil {
		return nil, nil, err
	}
	info, err = file.Stat()
	if err == nil && slices.ContainsFunc(private, func(p os.FileInfo) bool { return os.SameFile(p, info) }) {
		err = os.ErrNotExist
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// privateFiles returns the identities of those private files that exist.
func privateFiles(names []string) (files []os.FileInfo) {
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			files = append(files, info)
		}
	}
	return files
}

// Types maps extensions to the media types of files that a page needs. The system's table may
// have other types, with which browsers refuse to run a script.
var Types = map[string]string{
	".html":        openapi.HTMLType,
	".js":          "text/javascript; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".json":        "application/json",
	".map":         "application/json",
	".svg":         "image/svg+xml",
	".wasm":        "application/wasm",
	".webmanifest": "application/manifest+json",
	".woff2":       "font/woff2",
}
