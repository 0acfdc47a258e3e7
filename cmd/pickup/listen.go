package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/alecthomas/kong"
)

// listen opens the address of a server. Connections wait until it serves.
func listen(host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program; -p 0 picks a free port", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return l, nil
}

// A port is one of TCP.
type port uint16

// Decode reads a port from a command line or a variable.
func (p *port) Decode(ctx *kong.DecodeContext) error {
	t, err := ctx.Scan.PopValue("port")
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(t.String(), 10, 16)
	if err != nil {
		return fmt.Errorf("%q is not a port, a number from 0 to 65535", t)
	}
	*p = port(n)
	return nil
}
