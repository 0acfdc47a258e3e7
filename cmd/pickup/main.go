package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The first signal asks for an orderly stop. After it the signals have
	// their default effect again, so that a second one stops at once.
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
