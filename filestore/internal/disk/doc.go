// Package disk has the file system calls of a filestore for each operating system, and
// functions to compare files.
//
// [Calls] has one function for each call, so that tests can fail, cut off and record calls. A
// [State] identifies the content of a file, and a [Writer] writes to a file in parts.
package disk
