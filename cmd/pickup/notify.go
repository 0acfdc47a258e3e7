package main

import (
	"net"
	"strings"
)

// notify tells systemd how the service is: a datagram to the socket that it has
// named (sd_notify(3)). Elsewhere there is none, and nothing is done. It is ten
// lines; a library for it would be the larger part of the program's
// dependencies on Linux alone.
func notify(getenv func(string) string, state string) error {
	name := getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	if strings.HasPrefix(name, "@") {
		name = "\x00" + name[1:] // an abstract socket
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}
