// Pickup serves a JSON file as a REST API and keeps it the user's own file.
//
//	pickup [serve] [FILE]    serve FILE ($PICKUP_DB, then db.json)
//	pickup check [FILE]      name every fault of FILE as FILE:LINE:COLUMN
//	pickup passwd NAME       print a line for --htpasswd
//	pickup schema [FILE]     infer a schema from what FILE holds
//	pickup config            print the settings that are in force
//	pickup completion SHELL  print completions for bash, zsh or fish
//	pickup health            ask a running server whether it is ready
//	pickup version
//
// Exit codes: 0 stopped as asked, 1 faults found or another failure, 2 wrong
// usage or not a file, 3 the file is in use by another server, 4 the file does
// not parse (for check that is a fault, 1).
//
// The package reads flags, variables and the configuration file, wires a
// filestore, a database and the HTTP handler together and owns every goroutine
// of the program that outlives a call: serve.go lists them.
package main
