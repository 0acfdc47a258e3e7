package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pickup/internal/config"
	"pickup/internal/openfile"
	"pickup/internal/storage"
)

func main() {
	prepareConsole()
	// The first signal stops the service in order. A second signal has the default effect, an
	// immediate stop, but not within a second: a terminal sends Ctrl-C to each process, and
	// npm, if npm is the parent, passes the signal on once more.
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, restore) })
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// The exit codes. Scripts and supervisors rely on these.
const (
	exitStopped = 0 // stopped as asked, nothing wrong
	exitFaults  = 1 // check found faults, health found no ready server, or another failure
	exitUsage   = 2 // wrong usage, or an argument is not a file
	exitInUse   = 3 // another server holds the file
	exitBroken  = 4 // the file does not parse and is not served; check reports a fault
)

// run runs the command in args until it ends or ctx is done, and returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string,
	stdin io.Reader, stdout, stderr io.Writer) int {
	e := &environment{
		Sources: &config.Sources{Getenv: getenv}, container: inContainer(getenv),
		stdin: stdin, stdout: stdout, stderr: stderr,
	}
	ctx = openfile.WithNotice(ctx, func(path string) {
		fmt.Fprintf(stderr, "pickup: waiting for the content of %s, which is not a regular file\n", path)
	})
	command, err := parse(ctx, args, e)
	if err == nil && command != nil {
		err = command.run(ctx, e)
	}
	if err != nil && !errors.Is(err, errReported) {
		fmt.Fprintf(stderr, "pickup: %v\n", err)
	}
	return exitCode(err)
}

// exitCode returns the exit code for the error of a command.
func exitCode(err error) int {
	var usage config.UsageError
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
