// Package page has the files of the page that shows the data in a browser. Package build makes the
// files from src. The page loads nothing from other hosts.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"sync"
)

// Policy is the Content-Security-Policy of the page. No text can become markup or a script, because
// the policy requires Trusted Types and forbids creating any.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

//go:embed dist
var dist embed.FS

// A Content is a file in one content coding, with a strong entity tag.
type Content struct {
	Text []byte
	Tag  string
}

// A File is a file of the page. Several goroutines may call Gzip.
type File struct {
	Plain Content
	Gzip  func() Content // compresses once
}

// files reads the files at the first request for one.
var files = sync.OnceValue(func() map[string]*File {
	list, err := dist.ReadDir("dist")
	if err != nil {
		panic(err) // the folder is embedded
	}
	all := make(map[string]*File)
	for _, entry := range list {
		text, err := dist.ReadFile("dist/" + entry.Name())
		if err != nil {
			panic(err)
		}
		plain := newContent(text)
		all[entry.Name()] = &File{plain, sync.OnceValue(func() Content { return newContent(compress(text)) })}
	}
	return all
})

// Open returns a file of the page. It reports whether the file exists.
func Open(name string) (*File, bool) {
	file, ok := files()[name]
	return file, ok
}

func newContent(text []byte) Content {
	sum := sha256.Sum256(text)
	return Content{text, `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`}
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	w.Write(text)                                         // a buffer accepts everything
	w.Close()
	return b.Bytes()
}
