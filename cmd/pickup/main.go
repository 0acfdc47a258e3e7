package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"pickup/internal/storage"
)

func main() {
	// The first signal stops the service in order. A second one has its default
	// effect and stops it at once, but not within a second: a terminal sends Ctrl-C to
	// each process, and npm, a parent of this one, then passes it on once more.
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, restore) })
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// The exit codes. Scripts and supervisors rely on them.
const (
	exitStopped = 0 // stopped as asked, nothing wrong
	exitFaults  = 1 // check found faults, health found no ready server, or another failure
	exitUsage   = 2 // wrong usage, or what was named is not a file
	exitInUse   = 3 // another server holds the file
	exitBroken  = 4 // the file does not parse and is not served; check finds a fault in it
)

// An environment holds the inputs and outputs of a command.
type environment struct {
	getenv    func(string) string // "" if the variable is unset
	container bool                // it is in a container
	config    *configFile         // not nil while a command runs
	parsed    *kong.Context       // the command line
	sources   map[string]string   // of the values of flags that parsed does not have
	stdin     io.Reader
	stdout    io.Writer // results
	stderr    io.Writer // banner, logs and errors
}

// program returns the words that run the program in a shell. The command of the npm
// package sets them where it is not in the PATH.
func (e *environment) program() string { return cmp.Or(e.getenv("PICKUP_COMMAND"), "pickup") }

// log returns the log of a command that does not serve.
func (e *environment) log() *slog.Logger { return slog.New(slog.NewTextHandler(e.stderr, nil)) }

// run is the program: it runs the command in args until that is done or ctx is
// done, and returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := &environment{getenv: getenv, container: inContainer(getenv), sources: make(map[string]string), stdin: stdin, stdout: stdout, stderr: stderr}
	command, err := parse(args, e)
	if err == nil && command != nil {
		err = command.run(ctx, e)
	}
	if err != nil && !errors.Is(err, errReported) {
		fmt.Fprintf(stderr, "pickup: %v\n", err)
	}
	return exitCode(err)
}

// errReported is the error of a command that has printed what is wrong.
var errReported = errors.New("faults were found")

// A usageError is about the flags, the variables or the file that they name.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef formats a usageError.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitCode returns the exit code for the error of a command.
func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitStopped
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, storage.ErrInUse):
		return exitInUse
	case errors.Is(err, storage.ErrBroken):
		return exitBroken
	}
	return exitFaults
}

// version is set by the linker in a release.
var version string

// versionText returns the version of the program: that of the linker, that of the
// Go command, or "devel".
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return cmp.Or(info.Main.Version, "devel")
	}
	return "devel"
}

type versionCommand struct{}

func (versionCommand) run(_ context.Context, e *environment) error {
	_, err := fmt.Fprintf(e.stdout, "pickup %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
