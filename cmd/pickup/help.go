package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// help prints the help of a command. That of the program is the list of
// commands, then serve's flags (no command means serve) and what no flag says.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil || ctx.Selected() != nil {
		return err
	}
	serve, err := kong.Trace(ctx.Kong, []string{"serve"})
	if err != nil {
		return err
	}
	fmt.Fprintln(ctx.Stdout)
	options.NoAppSummary = true
	if err := kong.DefaultHelpPrinter(options, serve); err != nil {
		return err
	}
	_, err = fmt.Fprint(ctx.Stdout, helpTail)
	return err
}

const helpTail = `
Who may use the service:
  PICKUP_USER             name of the user; pickup where only a password is set
  PICKUP_PASSWORD         the password, or
  PICKUP_PASSWORD_FILE    a file whose first line is the password
  With none of them each start makes a password and prints it.

Exit codes:
  0  stopped as asked, nothing wrong
  1  faults found, or another failure
  2  wrong usage, or not a file
  3  the file is in use by another server
  4  the file does not parse (for check that is a fault)
`
