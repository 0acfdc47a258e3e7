package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"pickup/internal/config"
)

// localAddresses lists the addresses of localhost. Some clients try only the first address of
// localhost.
var localAddresses = []string{"127.0.0.1", "::1"}

// portAttempts is how many free ports are tried for both addresses of localhost.
const portAttempts = 100

// listen opens the addresses of host at a port, all or none. Port 0 means a free port.
func listen(host string, port int) ([]net.Listener, error) {
	hosts := []string{host}
	attempts := 1
	if config.IsLocalhost(host) {
		hosts = localAddresses
		if port == 0 {
			attempts = portAttempts // a port may be free at one address only
		}
	}
	for {
		listeners, failed, err := listenOnAll(hosts, port)
		attempts--
		if err == nil {
			return listeners, nil
		}
		if attempts == 0 || !errors.Is(err, addressInUse) {
			return nil, listenError(host, failed, err)
		}
	}
}

// listenOnAll opens the hosts of this machine, all at one port. If an address fails,
// listenOnAll also returns this address.
func listenOnAll(hosts []string, port int) (listeners []net.Listener, failed string, err error) {
	var missing error
	for _, host := range hosts {
		address := net.JoinHostPort(host, strconv.Itoa(port))
		l, err := net.Listen("tcp", address)
		if len(hosts) > 1 && (errors.Is(err, noAddress) || errors.Is(err, noFamily)) { // such as without IPv6
			missing = err
			continue
		}
		if err != nil {
			closeAll(listeners)
			return nil, address, err
		}
		listeners = append(listeners, l)
		port = l.Addr().(*net.TCPAddr).Port
	}
	if len(listeners) == 0 {
		return nil, "", missing
	}
	return listeners, "", nil
}

// listenError returns the error of a failed address of host.
func listenError(host, address string, err error) error {
	switch {
	case errors.Is(err, addressInUse):
		return fmt.Errorf("%s is in use by another program, perhaps json-server or another pickup; -p 0 picks a free port",
			address)
	case errors.Is(err, notAllowed):
		_, port, _ := net.SplitHostPort(address)
		return fmt.Errorf("cannot listen on port %s: %w; choose one from 1024 on, such as -p 3000",
			port, syscall.EACCES)
	case errors.Is(err, noAddress):
		return config.Usagef("--host: %s is not an address of this machine; use localhost, or 0.0.0.0 for all of them",
			host)
	}
	return fmt.Errorf("cannot listen: %w", err)
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close() // the only error is a second close
	}
}
