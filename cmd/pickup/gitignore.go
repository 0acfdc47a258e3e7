package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ignorePattern returns the pattern of the files that pickup keeps next to a database.
func ignorePattern(path string) string { return "." + filepath.Base(realPath(path)) + ".*" }

// unignored returns the root of the git repository that has the database at path and
// does not ignore the files next to it. It returns "" otherwise, and if git is not
// installed.
func unignored(ctx context.Context, path string) string {
	folder := filepath.Dir(realPath(path))
	root := repository(folder)
	if root == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	// No hook of the repository may run.
	check := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "check-ignore", "--quiet", ignorePattern(path))
	check.Dir = folder
	exit, ok := errors.AsType[*exec.ExitError](check.Run())
	if !ok || exit.ExitCode() != 1 {
		return ""
	}
	if here, err := os.Getwd(); err == nil {
		if shorter, err := filepath.Rel(here, root); err == nil {
			return shorter
		}
	}
	return root
}

// repository returns the folder at or above the given one that has a git repository,
// "" if there is none.
func repository(folder string) string {
	for {
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
			return folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			return ""
		}
		folder = above
	}
}
