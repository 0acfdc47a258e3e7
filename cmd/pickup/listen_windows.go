package main

import "golang.org/x/sys/windows"

// What an address may be refused with. The constants of package syscall are not what Windows returns.
const (
	addressInUse = windows.WSAEADDRINUSE
	notAllowed   = windows.WSAEACCES
	noAddress    = windows.WSAEADDRNOTAVAIL
	noFamily     = windows.WSAEAFNOSUPPORT
)
