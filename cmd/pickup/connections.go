package main

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections limits the number of open connections of a server. At the limit, a
// new connection closes the one that has been idle for longest, or is closed
// itself if none is idle.
type connections struct {
	limit int

	mu   sync.Mutex
	all  map[net.Conn]*list.Element // guarded by mu; nil during a request
	idle list.List                  // guarded by mu; of net.Conn, the longest idle first
}

func newConnections(limit int) *connections {
	return &connections{limit: limit, all: make(map[net.Conn]*list.Element)}
}

// state is for http.Server.ConnState.
func (c *connections) state(conn net.Conn, to http.ConnState) {
	if drop := c.update(conn, to); drop != nil {
		// Close the connection below TLS, because tls.Conn.Close waits for the client.
		if t, ok := drop.(*tls.Conn); ok {
			drop = t.NetConn()
		}
		drop.Close() // its error says that it is closed
	}
}

// update records the new state of conn and returns the connection to close, if any.
func (c *connections) update(conn net.Conn, to http.ConnState) (drop net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.all[conn]; e != nil {
		c.idle.Remove(e)
	}
	switch to {
	case http.StateNew:
		if len(c.all) >= c.limit {
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
