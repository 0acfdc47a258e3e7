package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker in a release.
var version string

// versionText returns the version from the linker or the Go command, or "devel".
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return cmp.Or(info.Main.Version, "devel")
	}
	return "devel"
}

// A versionCommand prints the version.
type versionCommand struct{}

func (versionCommand) run(_ context.Context, e *environment) error {
	_, err := fmt.Fprintf(e.stdout, "pickup %s %s %s/%s\n",
		versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
