package main

import (
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
	var names []string
	for _, pattern := range []string{"README.md", "CHANGELOG.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(r.root, pattern))
		if err != nil {
			return err
		}
		for _, p := range paths {
			name, err := filepath.Rel(r.root, p)
			if err != nil {
				return err
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		text = ownerWord.ReplaceAll(text, []byte(r.owner))
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
		to := filepath.Join(r.work, "documents", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// source returns the path of a file for a package, or of a pattern.
func (r *release) source(name string) string {
	if dir, base := filepath.Split(name); filepath.Ext(base) == ".md" && !strings.HasPrefix(dir, "packaging") {
		return filepath.Join(r.work, "documents", name)
	}
	return filepath.Join(r.root, name)
}
