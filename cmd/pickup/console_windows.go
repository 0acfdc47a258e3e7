package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// prepareConsole lets the console show colors, or turns colors off.
func prepareConsole() {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		console := windows.Handle(f.Fd())
		var mode uint32
		if windows.GetConsoleMode(console, &mode) != nil {
			continue // not a console
		}
		if windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) != nil {
			os.Setenv("NO_COLOR", "1")
		}
	}
}
