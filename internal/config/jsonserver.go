package config

import (
	"net"
	"strings"
)

// This file is for flags of json-server 0.17 without a counterpart in pickup.

// Unneeded are flags of json-server that have no effect here.
type Unneeded struct {
	Watch     bool   `short:"w" help:"Accepted for compatibility with json-server; the file is always watched."`
	NoCORS    bool   `name:"no-cors" aliases:"nc,noCors" hidden:""`
	Snapshots string `short:"S" hidden:""`
}

// Notes returns a sentence about each given flag.
func (u Unneeded) Notes() (all []string) {
	if u.Watch {
		all = append(all, "--watch is not needed: the file is always watched.")
	}
	if u.NoCORS {
		all = append(all, "--no-cors is not needed: "+
			"pages from other hosts are refused unless --cors-origin allows them.")
	}
	if u.Snapshots != "" {
		all = append(all, "--snapshots is not needed: PUT /_/snapshots/NAME keeps a state in memory.")
	}
	return all
}

// unsupported maps flags of json-server that cannot work to advice.
var unsupported = map[string]string{
	"middlewares": "pickup runs no JavaScript: use rules in pickup.toml ([[simulate]])",
	"cr":          "use --cors-origin for pages from other hosts",
}

// CheckUnsupported returns an error if args have an unsupported flag, before errors about the
// words after the flag.
func CheckUnsupported(args []string) error {
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case arg == "-h" && i+1 < len(args) && (args[i+1] == "localhost" || net.ParseIP(args[i+1]) != nil):
			return Usagef("-h shows the help; to listen on %s: -H %s", args[i+1], args[i+1])
		case arg == "--":
			return nil
		case name == "-m", name == "--middleware":
			name = "--middlewares"
		}
		if instead := unsupported[strings.TrimPrefix(name, "--")]; instead != "" && strings.HasPrefix(name, "--") {
			return Usagef("%s: %s (see docs/json-server.md)", arg, instead)
		}
	}
	return nil
}
