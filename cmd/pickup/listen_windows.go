package main

import "golang.org/x/sys/windows"

// The errors of an address. Windows does not return the constants of package syscall.
const (
	addressInUse = windows.WSAEADDRINUSE
	notAllowed   = windows.WSAEACCES
	noAddress    = windows.WSAEADDRNOTAVAIL
	noFamily     = windows.WSAEAFNOSUPPORT
)
