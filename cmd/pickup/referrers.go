package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"pickup/filestore"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// referrers returns the paths of the other files of the folder that can refer to records of the
// merged file: by the schema, or by the name of a field on the disk or in a commit. For a file
// outside of a folder, referrers returns nothing.
func (m *merge) referrers(ctx context.Context) ([]string, error) {
	collection, dir := m.theirs.Only(), filepath.Dir(m.path)
	if collection == "" || checkFolder(dir) != nil {
		return nil, nil
	}
	found := make(map[string]bool)
	for _, name := range m.rules.Members() {
		for _, ref := range m.rules.Member(name).References {
			if ref.Collection == collection {
				found[memberFile(dir, name)] = true
			}
		}
	}
	key := m.snapshot(m.theirs).KeyOf(spell.Singular(collection))
	fields := []string{rawjson.Quote(key), "'" + key + "'", key + ":"} // the last two in JSON5
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if filestore.MemberOf(path) == "" || !isFile(path) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		isIn := func(field string) bool { return bytes.Contains(text, []byte(field)) }
		if slices.ContainsFunc(fields, isIn) {
			found[e.Name()] = true
		}
	}
	committed, err := committedWith(ctx, dir, fields)
	if err != nil {
		return nil, err
	}
	for _, name := range committed {
		if filestore.MemberOf(name) != "" {
			found[name] = true
		}
	}
	delete(found, memberFile(dir, collection))
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		paths = append(paths, filepath.ToSlash(filepath.Join(dir, name)))
	}
	return paths, nil
}

// memberFile returns the name of the file of a collection in a folder.
func memberFile(dir, collection string) string {
	name := collection + ".json"
	if !isFile(filepath.Join(dir, name)) && isFile(filepath.Join(dir, name+"5")) {
		name += "5"
	}
	return name
}

// committedWith returns the names of the files directly in a directory that contain one of texts in
// any of the latest commits of all branches. The other side of the merge is among these
// commits, with files that may not be on the disk. Outside of a repository, committedWith
// returns nothing.
func committedWith(ctx context.Context, dir string, texts []string) (names []string, err error) {
	const latest = "--count=100"
	branches, err := git(ctx, ".", "for-each-ref", latest, "--sort=-committerdate", "--format=%(objectname)")
	if err != nil {
		return nil, nil
	}
	heads, err := git(ctx, ".", "rev-parse", "--revs-only", "HEAD", "FETCH_HEAD")
	if err != nil {
		return nil, err
	}
	commits := strings.Fields(string(branches) + string(heads))
	if len(commits) == 0 {
		return nil, nil
	}
	args := append([]string{"--literal-pathspecs", "grep", "-lzF", "--max-depth=0"}, commits...)
	for _, text := range texts {
		args = slices.Insert(args, 2, "-e", text)
	}
	out, err := git(ctx, ".", append(args, "--", dir)...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil, nil // no file has the text
	}
	for _, found := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		_, path, _ := strings.Cut(found, ":") // after the commit
		names = append(names, filepath.Base(filepath.FromSlash(path)))
	}
	return names, err
}
