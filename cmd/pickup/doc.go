// Pickup serves a JSON file as a REST API. The file stays yours to edit.
//
//	pickup [serve] [FILE]         serve FILE ($PICKUP_DB, then db.json)
//	pickup init [FILE]            create FILE and its schema, or a schema for an existing FILE
//	pickup check [FILE]           list what is wrong with FILE as FILE:LINE:COLUMN
//	pickup types [FILE]           print TypeScript types of the data in FILE
//	pickup generate NAME=N…       add made-up records to a file
//	pickup diff [A] [B]           print what differs between two files or commits
//	pickup merge BASE OURS THEIRS merge two edits of a file into OURS
//	pickup import SOURCE [FILE]   import CSV, JSON or HAR into FILE, or copy a file into etcd
//	pickup export CLUSTER [FILE]  write a database in etcd to FILE
//	pickup tail [URL]             print the changes of a running server as they happen
//	pickup passwd NAME            print a line for --htpasswd
//	pickup schema [FILE]          infer a schema from FILE
//	pickup config                 print the settings in force
//	pickup completion SHELL       print a completion script for bash, zsh or fish
//	pickup health                 check whether a running server is ready
//	pickup version
//
// Exit codes: 0 success, 1 errors found or another failure, 2 wrong usage or not a
// file, 3 the file is in use by another server, 4 the file does not parse (with
// check: 1).
//
// Begin with main.go, which runs a command and turns the error into an exit code, and serve.go,
// which lists the steps of a start and the goroutines of the server; opendatabase.go has the steps
// that open the database. parse.go parses the command line. Each command has a file, uses the settings in internal/config, and uses no other
// command, except that init runs schema and generate, and health parses the command line of a
// serve. file.go, client.go, cluster.go and git.go help several commands with a file, a server, a
// database in etcd and git. difference.go finds the changes between two contents, and changes.go
// prints changes for people.
package main
