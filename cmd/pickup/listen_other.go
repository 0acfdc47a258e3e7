//go:build !windows

package main

import "syscall"

// What an address may be refused with.
const (
	addressInUse = syscall.EADDRINUSE
	notAllowed   = syscall.EACCES
	noAddress    = syscall.EADDRNOTAVAIL
	noFamily     = syscall.EAFNOSUPPORT
)
