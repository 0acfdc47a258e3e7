// Package static decides which file of a folder a URL names, and whether it may be served.
//
// A file is opened within its folder and by a path without links. It is not served if it is
// private: private files are compared by path, as they may be replaced meanwhile, and by
// identity, as a file may have several names.
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

// FileName returns the name of the file at an escaped path. A name with a final slash
// names a folder. Names are refused that no file should have: names of dot files,
// and names that mean another file, or more than a file, on some system.
func FileName(escaped string) (name string, ok bool) {
	if escaped == "/" {
		return "./", true
	}
	var parts []string
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSuffix(escaped, "/"), "/"), "/") {
		part, err := url.PathUnescape(part)
		odd := func(c rune) bool { return c < ' ' || c == 0x7f || strings.ContainsRune(`/\:*?"<>|`, c) }
		if err != nil || !utf8.ValidString(part) || part == "" || isHidden(part) || strings.TrimRight(part, ". ") != part || strings.ContainsFunc(part, odd) {
			return "", false
		}
		parts = append(parts, part)
	}
	if strings.HasSuffix(escaped, "/") {
		parts = append(parts, "")
	}
	return strings.Join(parts, "/"), true
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// Open opens a file of a folder that may be served. For a folder that is named without a
// final slash, and that has an index.html, it returns the folder.
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
	if name, err = filepath.Rel(base, real); err != nil {
		return nil, nil, err
	}
	parts := strings.Split(name, string(filepath.Separator))
	if !filepath.IsLocal(name) || slices.ContainsFunc(parts, isHidden) {
		return nil, nil, os.ErrNotExist
	}
	if isPrivatePath(real, private) {
		return nil, nil, os.ErrNotExist
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	file, info, err := openPublic(root, parts, privateFiles(private))
	if err == nil && info.IsDir() {
		var index *os.File
		if index, _, err = Open(dir, name+"/index.html", private); err != nil {
			file.Close()
			return nil, nil, err
		}
		index.Close()
	}
	return file, info, err
}

// isPrivatePath reports whether a path without links leads to a private file or to
// its conflict copy (see package filestore), or within a private folder. A file that
// is being replaced is known by its path only.
func isPrivatePath(real string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		private, err := filepath.EvalSymlinks(name)
		if err != nil { // it is missing at the moment
			if private, err = filepath.EvalSymlinks(filepath.Dir(name)); err != nil {
				return false
			}
			private = filepath.Join(private, filepath.Base(name))
		}
		if private, err = filepath.Abs(private); err != nil {
			return false
		}
		abs, err := filepath.Abs(real)
		rest, ok := strings.CutPrefix(strings.ToLower(abs), strings.ToLower(private)) // case counts on some systems only
		return err == nil && ok && (rest == "" || rest[0] == filepath.Separator || strings.HasPrefix(rest, ".conflict-"))
	})
}

// openPublic opens the file of root that parts name, unless it is a private one.
func openPublic(root *os.Root, parts []string, private []os.FileInfo) (*os.File, os.FileInfo, error) {
	name := filepath.Join(parts...)
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
	if info, err = file.Stat(); err == nil && slices.ContainsFunc(private, func(p os.FileInfo) bool { return os.SameFile(p, info) }) {
		err = os.ErrNotExist
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// privateFiles returns what the private paths are at the moment.
func privateFiles(names []string) (files []os.FileInfo) {
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			files = append(files, info)
		}
	}
	return files
}

// Types are the types of files that a page needs. The tables of a system may have
// others, with which browsers refuse to run a script.
var Types = map[string]string{
	".html": openapi.HTMLType, ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".json": "application/json", ".map": "application/json", ".svg": "image/svg+xml",
	".wasm": "application/wasm", ".webmanifest": "application/manifest+json", ".woff2": "font/woff2",
}
