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
	"pickup/internal/openfile"
	"pickup/internal/rawjson"
)

// This file has the queries to git and the settings of git.

// git runs git in a directory and returns its output. No hook of the repository runs.
// The error has the message of git, and the exit code in an exec.ExitError.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(failed.Stderr))
	}
	return out, err
}

// gitTime is how long a command waits for git.
const gitTime = time.Second

// ignorePattern returns the pattern of pickup's files next to a database.
func ignorePattern(path string) string {
	if filestore.IsFolder(path) {
		return ".*.json*.*"
	}
	return "." + filepath.Base(openfile.Real(path)) + ".*"
}

// unignored returns the root of the git repository of the database at path, if the repository
// does not ignore the files next to the database. Otherwise, and without git, unignored returns
// "".
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

// busyFor is the maximum age of a lock of a running git. An older lock is left from a crash.
const busyFor = 10 * time.Second

// indexLocked returns a function that reports whether git is changing files of the repository
// around path.
func indexLocked(ctx context.Context, path string) func() bool {
	out, err := git(ctx, folderOf(path), "rev-parse", "--git-path", "index.lock") // in another work tree, too
	lock := strings.TrimSpace(string(out))
	if !filepath.IsAbs(lock) {
		lock = filepath.Join(folderOf(path), lock)
	}
	return func() bool {
		info, noLock := os.Stat(lock)
		if err != nil || noLock != nil {
			return false
		}
		return time.Since(info.ModTime()).Abs() < busyFor // the clock may have been set back
	}
}

// gitAttribute returns the value of an attribute of a file: "unspecified" without a value, ""
// if git does not know.
func gitAttribute(ctx context.Context, path, name string) string {
	out, _ := git(ctx, filepath.Dir(path), "check-attr", name, "--", filepath.Base(path))
	text := strings.TrimSpace(string(out))
	return text[strings.LastIndex(text, " ")+1:]
}

// hunkHeader matches the lines with the name of a record or a collection.
const hunkHeader = `^[ \t]*["']?[^"':]+["']?: \[|^[ \t]*\{?[ \t]*["']?id["']?: .*$`

// setUpGit makes git merge the database at path and its schema by record: with attributes in
// the repository, for all clones, and the command in the configuration of this clone.
func setUpGit(ctx context.Context, e *environment, path string) error {
	real := openfile.Real(path)
	root := repository(ctx, path)
	files := []string{real}
	if filestore.IsFolder(path) {
		files = []string{filepath.Join(real, "*.json"), filepath.Join(real, "*.json5")}
	} else if schema, err := lint.SchemaPath(real, ""); err == nil {
		files = append(files, schema)
	}
	for _, file := range files {
		at, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		line := gitPattern(at) + " merge=pickup diff=pickup"
		switch driver := gitAttribute(ctx, file, "merge"); driver {
		case "pickup":
		case "unspecified", "set", "": // git's own
			if err := appendLine(filepath.Join(root, ".gitattributes"), line); err != nil {
				return err
			}
			e.printf(".gitattributes: added %s; commit it\n", line)
		default:
			e.printf(".gitattributes: keeping the merge driver %s of %s; "+
				"to merge by record, replace it with: %s\n", driver, at, line)
		}
	}
	for _, setting := range [][2]string{
		{"merge.pickup.name", "merge JSON by record"},
		{driverSetting, mergeDriver(e.program())},
		{"diff.pickup.xfuncname", hunkHeader},
	} {
		if err := configureGit(ctx, e, root, setting[0], setting[1]); err != nil {
			return err
		}
	}
	if _, err := exec.LookPath("pickup"); err != nil && e.program() == "pickup" {
		e.printf(".git/config: git runs pickup from the PATH, where it is not yet\n")
	}
	e.printf(".git/config: this clone merges %s by record; each other clone needs once: %s init --git\n",
		path, e.program())
	return nil
}

// configureGit sets a setting of the clone at root, unless the setting has another value.
func configureGit(ctx context.Context, e *environment, root, name, value string) error {
	out, err := git(ctx, root, "config", "--local", "--get", name)
	if err == nil {
		if old := strings.TrimSpace(string(out)); old != value {
			e.printf(".git/config: keeping %s, which is %s; to replace it: git config %[1]s %[3]s\n",
				name, old, shellWord(value))
		}
		return nil
	}
	_, err = git(ctx, root, "config", "--local", name, value)
	return err
}

// driverSetting is the setting of git with the command of the merge driver.
const driverSetting = "merge.pickup.driver"

// mergeDriver returns the shell command for git to merge a file. If git cannot run program, the
// command merges by lines: otherwise git would report a conflict, and leave ours in the file
// without a marker, and the next commit would drop theirs.
func mergeDriver(program string) string {
	arguments := " merge --renumber --path %P --marker-size %L %O %A %B"
	byLines := `echo %P": merged by lines, because git cannot run ` + program + `" >&2; ` +
		"git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"
	packageName, isPackage := strings.CutPrefix(program, "npx ")
	if isPackage { // the exit code 1 of npx may mean a conflict, and a missing package
		npx := "npx --offline --no-install " + packageName
		return fmt.Sprintf("if %s version >/dev/null 2>&1; then %[1]s%s; else %s; fi", npx, arguments, byLines)
	}
	return fmt.Sprintf(`%s%s; code=$?; if [ $code = 126 ] || [ $code = 127 ]; then %s; else exit $code; fi`,
		program, arguments, byLines)
}

// wildcard matches special characters in patterns of git and of file names.
var wildcard = regexp.MustCompile(`[][*?\\]`)

// gitPattern returns the pattern of .gitattributes for a path in the repository. The
// files of a folder have the path FOLDER/*.json or FOLDER/*.json5.
func gitPattern(path string) string {
	folder, files := filepath.Split("/" + filepath.ToSlash(path))
	if files != "*.json" && files != "*.json5" {
		files = wildcard.ReplaceAllString(files, `\$0`)
	}
	pattern := wildcard.ReplaceAllString(folder, `\$0`) + files
	if strings.ContainsAny(pattern, " \t\"") {
		return rawjson.Quote(pattern)
	}
	return pattern
}

// mergeAdvice returns a warning if the repository wants the database at path merged by record,
// but this clone merges by lines. Otherwise it returns "".
func mergeAdvice(ctx context.Context, path string) string {
	path = openfile.Real(path)
	if filestore.IsFolder(path) {
		path = filepath.Join(path, "x.json")
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	if gitAttribute(ctx, path, "merge") != "pickup" {
		return ""
	}
	if _, err := git(ctx, filepath.Dir(path), "config", "--get", driverSetting); err != nil {
		return "git merges it by lines in this clone; to merge by record"
	}
	return ""
}
