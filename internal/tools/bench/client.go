//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// A client is a persistent HTTP/1.1 connection. It is as cheap as possible,
// because it shares the processors with the server that it measures.
type client struct {
	conn net.Conn
	r    *bufio.Reader
	host string
	out  []byte
	body []byte

	records string // the path of the schedules
	created int    // the status of a POST

	coding string // Accept-Encoding; "": none
}

func (p *process) connect() (*client, error) {
	host := strings.TrimPrefix(p.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, r: bufio.NewReader(conn), host: host, records: "/schedules", created: http.StatusCreated}
	if isPocketBase(p.name) {
		c.records = pocketBaseRecords
		c.created = http.StatusOK
	}
	return c, nil
}

// do sends a request and returns the answer. The body is valid until the next
// call.
func (c *client) do(method, target, body string) (status int, answer []byte, err error) {
	c.out = append(c.out[:0], method+" "+target+" HTTP/1.1\r\nHost: "+c.host+"\r\nAuthorization: "+authorization+"\r\n"...)
	if c.coding != "" {
		c.out = append(c.out, "Accept-Encoding: "+c.coding+"\r\n"...)
	}
	if body != "" {
		c.out = append(c.out, "Content-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n"...)
	}
	c.out = append(append(c.out, "\r\n"...), body...)
	if _, err := c.conn.Write(c.out); err != nil {
		return 0, nil, err
	}
	return c.read()
}

// read reads an answer (RFC 9112). net/http would need three times as long.
func (c *client) read() (status int, answer []byte, err error) {
	line, err := c.line()
	if err != nil {
		return 0, nil, err
	}
	if len(line) < 12 {
		return 0, nil, fmt.Errorf("no status line: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, nil, err
	}
	length, chunked := 0, false
	for {
		if line, err = c.line(); err != nil {
			return 0, nil, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := strings.Cut(string(line), ":")
		switch {
		case strings.EqualFold(name, "Content-Length"):
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, nil, err
			}
		case strings.EqualFold(name, "Transfer-Encoding"):
			chunked = true
		}
	}
	c.body = c.body[:0]
	if !chunked {
		err = c.take(length)
		return status, c.body, err
	}
	for {
		if line, err = c.line(); err != nil {
			return 0, nil, err
		}
		n, err := strconv.ParseInt(string(line), 16, 32)
		if err != nil {
			return 0, nil, err
		}
		if err := c.take(int(n)); err != nil {
			return 0, nil, err
		}
		if _, err := c.line(); err != nil || n == 0 {
			return status, c.body, err
		}
	}
}

// line reads a line. It is valid until the next read.
func (c *client) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

// take appends the next n bytes to the body.
func (c *client) take(n int) error {
	at := len(c.body)
	c.body = append(c.body, make([]byte, n)...)
	_, err := io.ReadFull(c.r, c.body[at:])
	return err
}
