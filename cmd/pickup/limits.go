package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pickup/internal/rawjson"
	"pickup/server"
)

// Limits keep one client from taking what others need.
type limits struct {
	MaxBody           size          `name:"max-body" default:"10MiB" variable:"PICKUP_MAX_BODY" placeholder:"SIZE" help:"The greatest body of a request (${default}); 413."`
	MaxHeader         size          `name:"max-header" default:"48KiB" variable:"PICKUP_MAX_HEADER" placeholder:"SIZE" help:"The greatest head of a request, its URL included (${default}); 431."`
	MaxURL            size          `name:"max-url" default:"32KiB" variable:"PICKUP_MAX_URL" placeholder:"SIZE" help:"The longest URL (${default}); 414."`
	MaxDepth          int           `name:"max-depth" default:"256" variable:"PICKUP_MAX_DEPTH" placeholder:"N" help:"How deep a body may be nested, 256 at most (${default}); 500, as for invalid JSON."`
	MaxTerms          int           `name:"max-terms" default:"32" variable:"PICKUP_MAX_TERMS" placeholder:"N" help:"How many different parameters a query may have, 32 at most (${default}); 400."`
	MaxPage           int           `name:"max-page" default:"0" variable:"PICKUP_MAX_PAGE" placeholder:"N" help:"The greatest page that a query may ask for; 0 for any (${default}); 400."`
	MaxConnections    int           `name:"max-connections" default:"16384" variable:"PICKUP_MAX_CONNECTIONS" placeholder:"N" help:"How many connections may be open; beyond it the one that is idle for longest is closed (${default})."`
	ReadHeaderTimeout time.Duration `name:"read-header-timeout" default:"5s" variable:"PICKUP_READ_HEADER_TIMEOUT" placeholder:"TIME" help:"How long the head of a request may take to arrive (${default})."`
	ReadTimeout       time.Duration `name:"read-timeout" default:"30s" variable:"PICKUP_READ_TIMEOUT" placeholder:"TIME" help:"How long a whole request may take to arrive (${default}); 408."`
	WriteTimeout      time.Duration `name:"write-timeout" default:"60s" variable:"PICKUP_WRITE_TIMEOUT" placeholder:"TIME" help:"How long an answer may take to be taken (${default})."`
	IdleTimeout       time.Duration `name:"idle-timeout" default:"120s" variable:"PICKUP_IDLE_TIMEOUT" placeholder:"TIME" help:"How long a connection may wait for its next request (${default})."`
}

// maxStreams is how many requests may be under way on one connection of
// HTTP/2.
const maxStreams = 100

// check returns an error where a limit is none.
func (l limits) check() error {
	for _, n := range []struct {
		flag            string
		value, min, max int64
	}{
		{"max-body", int64(l.MaxBody), 1, 1 << 40},
		{"max-header", int64(l.MaxHeader), 1 << 10, 16 << 20},
		{"max-url", int64(l.MaxURL), 64, 16 << 20},
		{"max-depth", int64(l.MaxDepth), 1, rawjson.MaxDepth},
		{"max-terms", int64(l.MaxTerms), 1, 32},
		{"max-page", int64(l.MaxPage), 0, 1 << 40},
		{"max-connections", int64(l.MaxConnections), 1, 1 << 20},
	} {
		if n.value < n.min || n.value > n.max {
			return usagef("--%s: %d is not between %d and %d", n.flag, n.value, n.min, n.max)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"read-header-timeout", l.ReadHeaderTimeout}, {"read-timeout", l.ReadTimeout},
		{"write-timeout", l.WriteTimeout}, {"idle-timeout", l.IdleTimeout},
	} {
		// 0 would be no limit at all.
		if d.value < 10*time.Millisecond {
			return usagef("--%s: %v is less than 10ms", d.flag, d.value)
		}
	}
	return nil
}

// options sets the limits that a handler keeps.
func (l limits) options(o *server.Options) {
	o.MaxBody, o.MaxURL, o.MaxDepth = int64(l.MaxBody), int(l.MaxURL), l.MaxDepth
	o.MaxTerms, o.MaxPage = l.MaxTerms, l.MaxPage
}

// server sets the limits that a server keeps. net/http allows 4 KiB more for
// the head than it is told.
func (l limits) server(s *http.Server) {
	s.ReadHeaderTimeout, s.ReadTimeout = l.ReadHeaderTimeout, l.ReadTimeout
	s.WriteTimeout, s.IdleTimeout = l.WriteTimeout, l.IdleTimeout
	s.MaxHeaderBytes = int(l.MaxHeader)
	// Without a limit of its own a connection that nobody reads from would keep
	// its requests, and their answers in memory, for good: the end of
	// WriteTimeout only adds to what waits to be written.
	s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: l.WriteTimeout}
}

// A size is a number of bytes: 4096, 64KiB, 10MiB, 1GiB; K, M and G, with a B or
// without, are the same powers of 1024.
type size int64

// UnmarshalText reads a size.
func (s *size) UnmarshalText(text []byte) error {
	t := strings.ToUpper(strings.TrimSpace(string(text)))
	t = strings.TrimSuffix(strings.TrimSuffix(t, "B"), "I")
	factor := int64(1)
	for i, unit := range []string{"K", "M", "G"} {
		if head, ok := strings.CutSuffix(t, unit); ok {
			t, factor = head, 1<<(10*(i+1))
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(t), 10, 64)
	if err != nil || n < 0 || n > 1<<40/factor {
		return fmt.Errorf("%q is not a size, such as 4096, 64KiB or 10MiB", text)
	}
	*s = size(n * factor)
	return nil
}

// String returns the size with the greatest unit that it is a multiple of.
func (s size) String() string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if n := int64(1) << (10 * (3 - i)); s > 0 && int64(s)%n == 0 {
			return strconv.FormatInt(int64(s)/n, 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
