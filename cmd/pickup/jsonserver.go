package main

import (
	"net"
	"path/filepath"
	"slices"
	"strings"

	"pickup/etcdstore"
)

// This file has what differs from the command line of json-server 0.17, which runs as
// it is otherwise.

// unneeded are flags of json-server that have no effect here.
type unneeded struct {
	Watch     bool   `short:"w" help:"Accepted for compatibility with json-server; the file is always watched."`
	NoCORS    bool   `name:"no-cors" aliases:"nc,noCors" hidden:""`
	Snapshots string `short:"S" hidden:""`
}

// notices returns a notice for each flag that is given.
func (u unneeded) notices() (all []notice) {
	for _, flag := range []struct {
		given     bool
		name, why string
	}{
		{u.Watch, "--watch", "the file is always watched"},
		{u.NoCORS, "--no-cors", "pages of other hosts are refused unless --cors-origin allows them"},
		{u.Snapshots != "", "--snapshots", "PUT /_/snapshots/NAME keeps a state in memory"},
	} {
		if flag.given {
			all = append(all, note("%s is not needed: %s.", flag.name, flag.why))
		}
	}
	return all
}

// unsupported are the flags of json-server that cannot work, with what to use instead.
var unsupported = map[string]string{
	"middlewares": "pickup runs no JavaScript: use rules in pickup.toml ([[simulate]])",
	"cr":          "use --cors-origin for pages of other hosts",
}

// checkUnsupported returns an error if args have a flag that cannot work, before one that
// depends on the words after it.
func checkUnsupported(args []string) error {
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case arg == "-h" && i+1 < len(args) && (args[i+1] == "localhost" || net.ParseIP(args[i+1]) != nil):
			return usagef("-h shows the help; to listen on %s: -H %s", args[i+1], args[i+1])
		case arg == "--":
			return nil
		case name == "-m", name == "--middleware":
			name = "--middlewares"
		}
		if instead := unsupported[strings.TrimPrefix(name, "--")]; instead != "" && strings.HasPrefix(name, "--") {
			return usagef("%s: %s (see docs/json-server.md)", arg, instead)
		}
	}
	return nil
}

// checkSource returns an error if what is named is not a file: json-server can read more.
func checkSource(file string) error {
	switch {
	case etcdstore.IsURL(file):
		file = etcdstore.Redacted(file)
		return usagef("%s is not a file (to make a database in etcd: pickup import db.json %s)", file, shellWord(file))
	case strings.HasPrefix(file, "http://"), strings.HasPrefix(file, "https://"):
		return usagef("%s is not a file: download it first, with curl -o db.json %s", file, shellWord(file))
	case slices.Contains([]string{".js", ".cjs", ".mjs", ".ts"}, filepath.Ext(file)):
		module := file
		if !filepath.IsAbs(file) {
			module = "./" + file
		}
		return usagef("%s is a program: let it write a JSON file, and serve that, as in node -p %s > db.json",
			file, shellWord(`JSON.stringify(require("`+module+`")())`))
	}
	return nil
}
