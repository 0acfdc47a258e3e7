//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// followers are the clients of a stream. One goroutine reads for all of them, as
// cheaply as possible, because it shares the processors with the server that it
// measures: goroutines of their own need several times as long as the server.
type followers struct {
	epoll   int
	begun   chan error // has a value for each client whose stream has begun or failed
	reading sync.WaitGroup

	mu      sync.Mutex
	clients []follower // guarded by mu
	open    int        // guarded by mu; connections
}

// A follower is the connection of one client.
type follower struct {
	fd    int    // -1 when it is closed
	line  []byte // the beginning of a line whose rest has not arrived
	begun bool   // the stream has begun
	named bool   // the line before is the name of an event
	seen  []arrival
}

// An arrival is when a client had the event with an id.
type arrival struct {
	id string
	at time.Time
}

// streamRequest returns the request of a stream.
func streamRequest(host, target string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: " + authorization + "\r\nAccept: text/event-stream\r\n\r\n"
}

// follow opens n streams and waits until each has begun.
func (p *process) follow(target string, n int) (*followers, error) {
	host := strings.TrimPrefix(p.url, "http://")
	address, err := netip.ParseAddrPort(host)
	if err != nil {
		return nil, err
	}
	f := &followers{begun: make(chan error, n)}
	if f.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	for i := range n {
		if err = f.add(address, streamRequest(host, target)); err == nil && i == 0 {
			f.reading.Go(f.read)
		}
		if err == nil && (i%100 == 99 || i == n-1) { // no more at once than the backlog of a listener
			for range i%100 + 1 {
				err = errors.Join(err, <-f.begun)
			}
		}
		if err != nil {
			f.close()
			return nil, err
		}
	}
	return f, nil
}

// add connects one more client.
func (f *followers) add(address netip.AddrPort, request string) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()})
	if err == nil {
		_, err = syscall.Write(fd, []byte(request))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		err = syscall.EpollCtl(f.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(len(f.clients))})
	}
	if err != nil {
		syscall.Close(fd)
		return err
	}
	f.clients, f.open = append(f.clients, follower{fd: fd}), f.open+1
	return nil
}

// read reads the streams until all have ended.
func (f *followers) read() {
	defer syscall.Close(f.epoll)
	events, buffer := make([]syscall.EpollEvent, 128), make([]byte, 64<<10)
	for open := 1; open > 0; {
		n, err := syscall.EpollWait(f.epoll, events, -1)
		if err != nil && err != syscall.EINTR {
			panic(err) // the descriptor is not valid
		}
		f.mu.Lock()
		for _, e := range events[:max(n, 0)] {
			c := &f.clients[e.Fd]
			n, err := syscall.Read(c.fd, buffer)
			switch {
			case err == syscall.EINTR:
			case err != nil || n == 0:
				f.end(c, errors.Join(err, io.ErrUnexpectedEOF))
			default:
				f.take(c, buffer[:n], time.Now())
			}
		}
		open = f.open
		f.mu.Unlock()
	}
}

// end closes the connection of a client. The caller has mu.
func (f *followers) end(c *follower, err error) {
	syscall.Close(c.fd)
	c.fd = -1
	if f.open--; !c.begun {
		f.begun <- err
	}
}

// take takes what has arrived. It looks at lines only: those of the chunked transfer
// coding are neither names nor ids of events. The caller has mu.
func (f *followers) take(c *follower, text []byte, at time.Time) {
	if len(c.line) > 0 {
		text = append(c.line, text...)
	}
	for {
		line, rest, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			c.line = append(c.line[:0], line[:min(len(line), 64)]...) // the rest of a long one does not matter
			return
		}
		text = rest
		id, isID := bytes.CutPrefix(line, []byte("id: "))
		switch {
		case bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")):
			f.end(c, errors.New(string(line)))
			return
		case isID && !c.begun: // what a stream begins with is not an arrival
			c.begun = true
			f.begun <- nil
		case isID && c.named: // not only the place of a quiet stream
			c.seen = append(c.seen, arrival{string(id), at})
		}
		c.named = bytes.HasPrefix(line, []byte("event: "))
	}
}

// close ends the streams.
func (f *followers) close() {
	f.mu.Lock()
	for _, c := range f.clients {
		if c.fd >= 0 {
			syscall.Shutdown(c.fd, syscall.SHUT_RDWR) // fails if the server has closed it
		}
	}
	f.mu.Unlock()
	f.reading.Wait()
}

// delays waits for the events of the latest n revisions and returns their sorted
// delays at all clients. A client without one of them, or with another, is an
// error.
func (f *followers) delays(p *process, n int) (all []time.Duration, err error) {
	status, body, err := p.get(fmt.Sprintf("/_/changes?_fields=id&_limit=%d", n))
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("GET /_/changes: %d %w", status, err)
	}
	var revisions []struct {
		Rev string
		At  time.Time
	}
	if err := json.Unmarshal(body, &revisions); err != nil {
		return nil, err
	}
	if len(revisions) != n {
		return nil, fmt.Errorf("the history has %d of %d revisions", len(revisions), n)
	}
	slices.Reverse(revisions)
	complete := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return !slices.ContainsFunc(f.clients, func(c follower) bool { return len(c.seen) < n })
	}
	for begin := time.Now(); !complete(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			break // the loop below says which client lacks what
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range f.clients {
		seen := c.seen
		for j, r := range revisions {
			if j >= len(seen) || seen[j].id != r.Rev {
				return nil, fmt.Errorf("client %d lacks the event of %s", i, r.Rev)
			}
			all = append(all, seen[j].at.Sub(r.At))
		}
		if len(seen) > n {
			return nil, fmt.Errorf("client %d has %d events of %d revisions", i, len(seen), n)
		}
	}
	slices.Sort(all)
	return all, nil
}
