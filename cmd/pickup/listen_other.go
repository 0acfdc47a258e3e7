//go:build !windows

package main

import "syscall"

// The errors of an address.
const (
	addressInUse = syscall.EADDRINUSE
	notAllowed   = syscall.EACCES
	noAddress    = syscall.EADDRNOTAVAIL
	noFamily     = syscall.EAFNOSUPPORT
)
