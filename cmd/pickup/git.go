package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"pickup/filestore"
	"pickup/internal/lint"
)

// This file is for what commands ask of git, and for its settings.

// git runs git in a directory and returns its output. No hook of the repository runs.
// The error has what git says, and its exit code in an exec.ExitError.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(failed.Stderr))
	}
	return out, err
}

// gitTime is how long a command waits for what git says about a file.
const gitTime = time.Second

// ignorePattern returns the pattern of the files that pickup keeps next to a database.
func ignorePattern(path string) string {
	if filestore.IsFolder(path) {
		return ".*.json.*"
	}
	return "." + filepath.Base(realPath(path)) + ".*"
}

// unignored returns the root of the git repository that has the database at path and does not
// ignore the files next to it. It returns "" otherwise, and if git is not installed.
func unignored(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	_, err := git(ctx, folderOf(path), "check-ignore", "--quiet", ignorePattern(path))
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		return ""
	}
	root := repository(ctx, path)
	if here, err := os.Getwd(); err == nil {
		if shorter, err := filepath.Rel(here, root); err == nil {
			return shorter
		}
	}
	return root
}

// repository returns the root of the git repository that has the database at path, "" outside
// of a repository.
func repository(ctx context.Context, path string) string {
	out, _ := git(ctx, folderOf(path), "rev-parse", "--show-toplevel")
	return filepath.FromSlash(strings.TrimSpace(string(out)))
}

// busyFor is the age up to which a lock of git says that git runs. A crash leaves it there.
const busyFor = 10 * time.Second

// indexLocked returns a function that reports whether git is changing files of the
// repository that has the file at path.
func indexLocked(ctx context.Context, path string) func() bool {
	out, err := git(ctx, folderOf(path), "rev-parse", "--git-path", "index.lock") // in another work tree, too
	lock := strings.TrimSpace(string(out))
	if !filepath.IsAbs(lock) {
		lock = filepath.Join(folderOf(path), lock)
	}
	return func() bool {
		info, noLock := os.Stat(lock)
		return err == nil && noLock == nil && time.Since(info.ModTime()).Abs() < busyFor // the clock may have been set back
	}
}

// gitAttribute returns the value of an attribute of a file: "unspecified" if it has none,
// "" if git does not know.
func gitAttribute(ctx context.Context, path, name string) string {
	out, _ := git(ctx, filepath.Dir(path), "check-attr", name, "--", filepath.Base(path))
	text := strings.TrimSpace(string(out))
	return text[strings.LastIndex(text, " ")+1:]
}

// hunkHeader matches the lines that name a record or a collection.
const hunkHeader = `^[ \t]*"[^"]+": \[|^[ \t]*\{?[ \t]*"id": .*$`

// setUpGit makes git merge the database at path and its schema by record: with attributes in
// the repository, which all clones share, and the command in the configuration of this clone.
func setUpGit(ctx context.Context, e *environment, path string) error {
	real := realPath(path)
	root := repository(ctx, path)
	files := []string{real}
	if filestore.IsFolder(path) {
		files = []string{filepath.Join(real, "*.json")}
	} else if schema, err := lint.SchemaPath(real, ""); err == nil {
		files = append(files, schema)
	}
	for _, file := range files {
		at, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		line := strings.Replace(gitPattern(at), `\*.json`, "*.json", 1) + " merge=pickup diff=pickup"
		switch driver := gitAttribute(ctx, file, "merge"); driver {
		case "pickup":
		case "unspecified", "set", "": // git's own
			if err := appendLine(filepath.Join(root, ".gitattributes"), line); err != nil {
				return err
			}
			fmt.Fprintf(e.stdout, ".gitattributes: added %s; commit it\n", line)
		default:
			fmt.Fprintf(e.stdout, ".gitattributes: %s has the merge driver %s, which stays; to merge by record, write %s\n", at, driver, line)
		}
	}
	for _, setting := range [][2]string{
		{"merge.pickup.name", "merge JSON by record"},
		{"merge.pickup.driver", e.program() + " merge --renumber --path %P --marker-size %L %O %A %B"},
		{"diff.pickup.xfuncname", hunkHeader},
	} {
		if old, err := git(ctx, root, "config", "--local", "--get", setting[0]); err == nil {
			if text := strings.TrimSpace(string(old)); text != setting[1] {
				fmt.Fprintf(e.stdout, ".git/config: %s is %s, which stays; to replace it: git config %[1]s %[3]s\n", setting[0], text, shellWord(setting[1]))
			}
			continue
		}
		if _, err := git(ctx, root, "config", "--local", setting[0], setting[1]); err != nil {
			return err
		}
	}
	if _, err := exec.LookPath("pickup"); err != nil && e.program() == "pickup" {
		fmt.Fprintln(e.stdout, ".git/config: git runs pickup from the PATH, where it is not yet")
	}
	fmt.Fprintf(e.stdout, ".git/config: this clone merges %s by record; each other clone needs once: %s init --git\n", path, e.program())
	return nil
}

// wildcard matches what has a meaning in a pattern of git, or of file names.
var wildcard = regexp.MustCompile(`[][*?\\]`)

// gitPattern returns the pattern of .gitattributes for a path in the repository.
func gitPattern(path string) string {
	pattern := "/" + wildcard.ReplaceAllString(filepath.ToSlash(path), `\$0`)
	if strings.ContainsAny(pattern, " \t\"") {
		return quote(pattern)
	}
	return pattern
}

// mergesByLines reports whether the repository of the database at path wants it to be
// merged by record, and this clone does not know how.
func mergesByLines(ctx context.Context, path string) bool {
	path = realPath(path)
	if filestore.IsFolder(path) {
		path = filepath.Join(path, "x.json")
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	if gitAttribute(ctx, path, "merge") != "pickup" {
		return false
	}
	_, err := git(ctx, filepath.Dir(path), "config", "--get", "merge.pickup.driver")
	return err != nil
}
