// Package testport finds ports for the programs that tests start.
package testport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The system picks ports for other programs, and for outgoing connections, from 32768
// on (Linux) or 49152 on (other systems). It would give away a port from there before
// the program listens, or while that program restarts.
const (
	first = 10_000
	last  = 32_767
)

var given sync.Map // the ports that Free has returned

// Free returns a port of localhost that no program uses, at 127.0.0.1 and at ::1, and that the
// system does not assign. It returns each port once.
func Free() (string, error) {
	for range 1000 {
		port := first + rand.IntN(last+1-first)
		if _, again := given.LoadOrStore(port, true); again {
			continue
		}
		if isFree("127.0.0.1", port) && (isFree("::1", port) || !isFree("::1", 0)) { // or there is no ::1
			return strconv.Itoa(port), nil
		}
	}
	return "", errors.New("no port is free")
}

func isFree(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
