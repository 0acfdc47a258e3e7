package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"pickup/internal/rewrite"
	"pickup/server/internal/httpx"
	"pickup/server/internal/static"
)

// sendStatic sends the file for the path, and reports whether the file exists. With Options.SPA, it
// sends index.html for the pages of a single-page application.
func (req *request) sendStatic() bool {
	if len(req.Static) == 0 || !httpx.IsRead(req.Request) {
		return false
	}
	sent := req.sent.EscapedPath()
	if p := addressOf(req.Request); p != nil {
		sent = p.path
	}
	if rewrite.IsService(sent) || req.Prefix != "" && strings.HasPrefix(sent+"/", req.Prefix+"/") {
		return false
	}
	send := func(name string) bool {
		return slices.ContainsFunc(req.Static, func(dir string) bool { return req.sendFile(dir, name) })
	}
	name, ok := static.FileName(sent)
	return ok && send(name) || req.SPA && isPage(req.Request, sent) && send("index.html")
}

// sendFile sends a file of a folder, and reports whether the file exists.
func (req *request) sendFile(dir, name string) bool {
	var private []string
	if req.Private != nil {
		private = req.Private()
	}
	file, info, err := static.Open(dir, name, private)
	if err != nil {
		return false
	}
	defer file.Close()
	h := req.Writer.Header()
	if !isSimulated(req.Context) {
		h["Cache-Control"] = noCache
	}
	if info.IsDir() {
		h.Set("Location", path.Base(req.sent.EscapedPath())+"/"+(&url.URL{RawQuery: req.sent.RawQuery}).String())
		req.Status(http.StatusFound)
		return true
	}
	mediaType, known := static.Types[path.Ext(info.Name())]
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
	h.Set("ETag", tag) // the spelling for ServeContent
	content := io.ReadSeeker(file)
	if text != nil {
		compressible := known && mediaType != "font/woff2" && req.Request.Header["Range"] == nil
		if compressible && !req.NoCompression && httpx.WantsGzip(req.Request, len(text)) {
			req.withBuildSlot(func() { text = httpx.AppendGzip(nil, text) })
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", httpx.GzipTag(tag))
		}
		content = bytes.NewReader(text)
	}
	w := fileWriter{req.Writer, controlOf(req.Writer), httpx.WriteTimeout(req.Request)}
	http.ServeContent(w, req.Request, info.Name(), info.ModTime(), content)
	return true
}

// maxHeldFile is the maximum size of a file in memory, in bytes.
const maxHeldFile = 8 << 20

// readFile returns the content of a file, or nil for a large file, and the tag. The tag is a hash of
// the content, because builds that set a fixed time may replace a file by a file with the same size
// and time. The tag of a large file is weak, and made of the time and the size.
func (req *request) readFile(file *os.File, info os.FileInfo) (text []byte, tag string) {
	if size := info.Size(); size <= maxHeldFile && req.reserve(size) {
		text := make([]byte, size)
		if _, err := io.ReadFull(file, text); err == nil {
			return text, httpx.Tag(text)
		}
		_, _ = file.Seek(0, io.SeekStart) // somebody replaces the file; ServeContent reports the error
	}
	return nil, fmt.Sprintf(`W/"%x-%x"`, info.ModTime().UnixNano(), info.Size())
}

// A fileWriter restarts the timeout of a write for each part of a file, because the rest of a large
// file may take longer.
type fileWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (w fileWriter) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // some writers of tests have no deadline
	return w.ResponseWriter.Write(b)
}

var noCache = []string{"no-cache"}
