package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pickup/internal/rewrite"
	"pickup/server/internal/httpx"
	"pickup/server/openapi"
)

// This file serves the files of Options.Static where the API has nothing. A file is
// opened within its folder and by a path without links. It is not served if it is one
// of Options.Private, which are compared by path, as they may be replaced meanwhile,
// and by identity, as a file may have several names.

// sendStatic sends the file that the path names, and reports whether there is one.
// With Options.SPA, a page of a single-page application is its index.html.
func (req *request) sendStatic() bool {
	if len(req.Static) == 0 || !httpx.IsRead(req.Request) {
		return false
	}
	sent := req.sent.EscapedPath()
	if p := placeOf(req.Request); p != nil {
		sent = p.path
	}
	if rewrite.IsService(sent) || req.Prefix != "" && strings.HasPrefix(sent+"/", req.Prefix+"/") {
		return false
	}
	if name, ok := fileName(sent); ok && slices.ContainsFunc(req.Static, func(dir string) bool { return req.sendFile(dir, name) }) {
		return true
	}
	return req.SPA && isPage(req.Request, sent) &&
		slices.ContainsFunc(req.Static, func(dir string) bool { return req.sendFile(dir, "index.html") })
}

// isPage reports whether a browser expects a page at a path, and not a file.
func isPage(r *http.Request, sent string) bool {
	return httpx.IsRead(r) && !strings.Contains(path.Base(sent), ".") && httpx.Prefers(r, "text/html")
}

// fileName returns the name of the file at an escaped path. A name with a final slash
// is that of a folder. Names are refused that no file should have: those of dot files,
// and those that mean another file, or more than a file, on some system.
func fileName(escaped string) (name string, ok bool) {
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

// sendFile sends a file of a folder, and reports whether there is one.
func (req *request) sendFile(dir, name string) bool {
	file, info, err := req.openFile(dir, name)
	if err != nil {
		return false
	}
	defer file.Close()
	h := req.Writer.Header()
	if !isSimulated(req.Context) {
		h["Cache-Control"] = noCache
	}
	if info.IsDir() {
		h.Set("Location", path.Base(req.sent.EscapedPath())+"/"+queryOf(req.sent))
		req.Status(http.StatusFound)
		return true
	}
	mediaType, known := fileTypes[path.Ext(info.Name())]
	if known {
		h.Set("Content-Type", mediaType)
	}
	h["Vary"] = vary
	text, tag := req.readFile(file, info)
	if sent := httpx.MatchTag(req.Request.Header["If-None-Match"], tag, true); sent != "" {
		req.setTag(sent)
		req.Status(http.StatusNotModified)
		return true
	}
	h.Set("ETag", tag) // in the spelling that ServeContent reads
	content := io.ReadSeeker(file)
	if text != nil {
		if known && mediaType != "font/woff2" && req.Request.Header["Range"] == nil && !req.NoCompression && httpx.WantsGzip(req.Request, len(text)) {
			req.withBuildSlot(func() { text = httpx.AppendGzip(nil, text) })
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", httpx.GzipTag(tag))
		}
		content = bytes.NewReader(text)
	}
	http.ServeContent(fileWriter{req.Writer, req.control(), httpx.WriteTimeout(req.Request)}, req.Request, info.Name(), info.ModTime(), content)
	return true
}

// maxHeldFile is the size in bytes up to which a file is read into memory.
const maxHeldFile = 8 << 20

// readFile returns the content of a file, nil if it is large, and its tag. A file may be
// replaced by one of the same size and time, as builds do that set a fixed time, so the
// tag is a hash of the content. That of a large file is weak: it has the time and the
// size.
func (req *request) readFile(file *os.File, info os.FileInfo) (text []byte, tag string) {
	if size := info.Size(); size <= maxHeldFile && req.reserve(size) {
		text := make([]byte, size)
		if _, err := io.ReadFull(file, text); err == nil {
			return text, httpx.Tag(text)
		}
		_, _ = file.Seek(0, io.SeekStart) // it is being replaced; ServeContent reports the error
	}
	return nil, fmt.Sprintf(`W/"%x-%x"`, info.ModTime().UnixNano(), info.Size())
}

// A fileWriter gives the client the whole time of a write for each part of a file, so
// that a large one need not arrive within that time.
type fileWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (w fileWriter) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // tests have writers without
	return w.ResponseWriter.Write(b)
}

var noCache = []string{"no-cache"}

// fileTypes are the types of files that a page needs. The tables of a system may have
// others, with which browsers refuse to run a script.
var fileTypes = map[string]string{
	".html": openapi.HTMLType, ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".json": "application/json", ".map": "application/json", ".svg": "image/svg+xml",
	".wasm": "application/wasm", ".webmanifest": "application/manifest+json", ".woff2": "font/woff2",
}

// queryOf returns the query of a URL with its question mark, "" if there is none.
func queryOf(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// openFile opens a file that may be served. For a folder that is named without a
// final slash, and that has an index.html, it returns the folder.
func (req *request) openFile(dir, name string) (*os.File, os.FileInfo, error) {
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
	if req.isPrivatePath(real) {
		return nil, nil, os.ErrNotExist
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	file, info, err := openPublic(root, parts, req.privateFiles())
	if err == nil && info.IsDir() {
		var index *os.File
		if index, _, err = req.openFile(dir, name+"/index.html"); err != nil {
			file.Close()
			return nil, nil, err
		}
		index.Close()
	}
	return file, info, err
}

// isPrivatePath reports whether a path without links is that of a private file or of
// its conflict copy (see package filestore), or within a private folder. A file that
// is being replaced is known by its path only.
func (s *server) isPrivatePath(real string) bool {
	return s.Private != nil && slices.ContainsFunc(s.Private(), func(name string) bool {
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

// openPublic opens the file of root that parts name, unless it is a private one or in
// a private folder.
func openPublic(root *os.Root, parts []string, private []os.FileInfo) (*os.File, os.FileInfo, error) {
	isPrivate := func(info os.FileInfo) bool {
		return slices.ContainsFunc(private, func(p os.FileInfo) bool { return os.SameFile(p, info) })
	}
	var info os.FileInfo
	var err error
	for i := range len(parts) + 1 {
		if info, err = root.Stat(filepath.Join(append([]string{"."}, parts[:i]...)...)); err != nil {
			return nil, nil, err
		}
		if isPrivate(info) {
			return nil, nil, os.ErrNotExist
		}
	}
	if !info.IsDir() && !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return nil, nil, os.ErrNotExist
	}
	file, err := root.Open(filepath.Join(parts...))
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil && isPrivate(info) {
		err = os.ErrNotExist
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// privateFiles returns what the private paths are at the moment.
func (s *server) privateFiles() (files []os.FileInfo) {
	if s.Private == nil {
		return nil
	}
	for _, name := range s.Private() {
		if info, err := os.Stat(name); err == nil {
			files = append(files, info)
		}
	}
	return files
}
