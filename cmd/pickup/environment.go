package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"

	"pickup/internal/config"
)

// A command is run by a node of the grammar.
type command interface {
	run(context.Context, *environment) error
}

// An environment holds the inputs and outputs of a command.
type environment struct {
	*config.Sources
	container bool          // the program runs in a container
	parsed    *kong.Context // the command line
	stdin     io.Reader
	stdout    io.Writer // results
	stderr    io.Writer // banner, logs and errors
}

// program returns the shell words to run the program. The npm package sets PICKUP_COMMAND if
// pickup is not in the PATH.
func (e *environment) program() string { return cmp.Or(e.Getenv("PICKUP_COMMAND"), "pickup") }

// printf prints results. There is nowhere to report an error.
func (e *environment) printf(format string, args ...any) { fmt.Fprintf(e.stdout, format, args...) }

// log returns the log of a command other than serve.
func (e *environment) log() *slog.Logger { return slog.New(slog.NewTextHandler(e.stderr, nil)) }

// inContainer reports whether the program runs in a container.
func inContainer(getenv func(string) string) bool {
	for _, name := range []string{"/.dockerenv", "/run/.containerenv"} { // of Docker and of Podman
		if _, err := os.Stat(name); err == nil {
			return true
		}
	}
	return getenv("container") != "" || getenv("KUBERNETES_SERVICE_HOST") != ""
}

// errReported is the error of a command that has printed the faults.
var errReported = errors.New("errors were found")
