package main

import (
	"bytes"
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	ownerWord   = regexp.MustCompile(`\bOWNER\b`)
	versionWord = regexp.MustCompile("([_`-])VERSION\\b")
	linkTarget  = regexp.MustCompile(`(!?\[[^\]]*\]\()([^():#\s]+)`)
)

// documents writes the documents as packages have them: with the owner and the version,
// and with links to the repository where a package does not have the file.
func (r *release) documents() error {
	build := filepath.Join(r.root, "build")
	if err := os.RemoveAll(build); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(r.root, "docs/*.md"))
	if err != nil {
		return err
	}
	names := []string{"README.md", "CHANGELOG.md", "packaging/npm/README.md"}
	for _, page := range pages {
		names = append(names, "docs/"+filepath.Base(page))
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		text = ownerWord.ReplaceAll(text, []byte(r.owner))
		text = bytes.ReplaceAll(text, []byte("<URL>"), []byte("<"+r.url+">"))
		text = versionWord.ReplaceAll(text, []byte("${1}"+r.version))
		text = linkTarget.ReplaceAllFunc(text, func(link []byte) []byte {
			m := linkTarget.FindSubmatch(link)
			target := path.Join(path.Dir(name), string(m[2]))
			if slices.Contains(names, target) {
				return link
			}
			kind := "/blob/v"
			if strings.HasPrefix(string(link), "!") {
				kind = "/raw/v"
			}
			return []byte(string(m[1]) + r.url + kind + r.version + "/" + target)
		})
		to := filepath.Join(build, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644)); err != nil {
			return err
		}
	}
	return nil
}
