package main

import (
	"container/list"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"

	"github.com/alecthomas/kong"
)

// Connections counts those of a server and makes room for new ones: at the
// limit the connection is closed that has been waiting for longest, for its
// first request or the next. Where none waits, the new one is closed.
type connections struct {
	most int

	mu   sync.Mutex
	all  map[net.Conn]*list.Element // guarded by mu; nil: a request is under way
	idle list.List                  // guarded by mu; of net.Conn, the longest first
}

func newConnections(most int) *connections {
	return &connections{most: most, all: make(map[net.Conn]*list.Element)}
}

// state is the hook of http.Server.ConnState.
func (c *connections) state(conn net.Conn, to http.ConnState) {
	if drop := c.note(conn, to); drop != nil {
		// The connection below TLS: its own Close would wait for the client.
		if t, ok := drop.(*tls.Conn); ok {
			drop = t.NetConn()
		}
		drop.Close() // an error would be one of a connection that has gone
	}
}

// note keeps the books and returns the connection that has to go, if any.
func (c *connections) note(conn net.Conn, to http.ConnState) (drop net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.all[conn]; e != nil {
		c.idle.Remove(e)
	}
	switch to {
	case http.StateNew:
		if len(c.all) >= c.most {
			oldest := c.idle.Front()
			if oldest == nil {
				return conn
			}
			drop = c.idle.Remove(oldest).(net.Conn)
			delete(c.all, drop)
		}
		c.all[conn] = c.idle.PushBack(conn)
	case http.StateIdle:
		if _, ok := c.all[conn]; ok {
			c.all[conn] = c.idle.PushBack(conn)
		}
	case http.StateActive:
		if _, ok := c.all[conn]; ok {
			c.all[conn] = nil
		}
	default:
		delete(c.all, conn)
	}
	return drop
}

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
