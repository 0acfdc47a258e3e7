package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// listen opens the address of a server. Connections wait until it serves.
func listen(host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another program; -p 0 picks a free one", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return l, nil
}

// isNew reports whether serving path would begin a new database.
func isNew(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// checkPlaces looks at what --cors-origin and --journal-dir name. A slip in
// one of them would show late, and far from its cause.
func checkPlaces(origins []string, journal string) error {
	for _, o := range origins {
		if !isOrigin(o) {
			return usagef("--cors-origin: %q is no origin as browsers send it: that is scheme://host, and :port where it is not the scheme's own, such as https://app.example, or * for any", o)
		}
	}
	if journal == "" {
		return nil
	}
	info, err := os.Stat(journal)
	if err != nil {
		return usagef("--journal-dir: %w", err)
	}
	if !info.IsDir() {
		return usagef("--journal-dir: %s is no folder", journal)
	}
	return nil
}

// isOrigin reports whether s names the origin of pages (RFC 6454, section 6.2),
// with or without a slash behind it, or all of them. A pattern or a default
// port would pass for one and equal no Origin header.
func isOrigin(s string) bool {
	if s == "*" {
		return true
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || strings.Contains(u.Host, "*") || u.Path != "" && u.Path != "/" {
		return false
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return false
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return u.Scheme != "" && bare.String() == s
}
