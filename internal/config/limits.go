package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits has limits for the protection of the server and other clients.
type Limits struct {
	MaxBody           Size          `name:"max-body" default:"10MiB" range:"1" variable:"PICKUP_MAX_BODY" placeholder:"SIZE" help:"Largest request body (${default}). Larger ones are refused with 413."`
	MaxHeader         Size          `name:"max-header" default:"48KiB" range:"1024 16777216" variable:"PICKUP_MAX_HEADER" placeholder:"SIZE" help:"Largest request header, including the URL (${default}). Larger ones are refused with 431."`
	MaxURL            Size          `name:"max-url" default:"32KiB" range:"64 16777216" variable:"PICKUP_MAX_URL" placeholder:"SIZE" help:"Longest URL (${default}). Longer ones are refused with 414."`
	MaxDepth          int           `name:"max-depth" default:"256" range:"1 256" variable:"PICKUP_MAX_DEPTH" placeholder:"N" help:"Deepest nesting of a body, at most 256 (${default}). Deeper ones are refused with 500, as invalid JSON is."`
	MaxTerms          int           `name:"max-terms" default:"32" range:"1 32" variable:"PICKUP_MAX_TERMS" placeholder:"N" help:"Maximum number of distinct parameters in a query, at most 32 (${default}). More are refused with 400."`
	MaxPage           int           `name:"max-page" default:"0" range:"0" variable:"PICKUP_MAX_PAGE" placeholder:"N" help:"Largest page that a query may request; 0 is unlimited (${default}). Larger ones are refused with 400."`
	MaxConnections    int           `name:"max-connections" default:"16384" range:"1 1048576" variable:"PICKUP_MAX_CONNECTIONS" placeholder:"N" help:"Maximum number of open connections at an address (${default}); more wait until one is closed."`
	MaxStreams        int           `name:"max-streams" default:"1024" range:"1 1048576" variable:"PICKUP_MAX_STREAMS" placeholder:"N" help:"Maximum number of open streams of server-sent events (${default}). One more gets 503."`
	MaxSessions       int           `name:"max-sessions" default:"256" range:"0 1048576" variable:"PICKUP_MAX_SESSIONS" placeholder:"N" help:"Maximum number of sessions, each with its own copy of the data (${default}). One more gets 503. 0 turns sessions off."`
	SessionIdle       time.Duration `name:"session-idle" default:"10m" variable:"PICKUP_SESSION_IDLE" placeholder:"TIME" help:"Time without a request after which a session ends (${default})."`
	SessionMemory     Size          `name:"session-memory" default:"256MiB" range:"1" variable:"PICKUP_SESSION_MEMORY" placeholder:"SIZE" help:"Maximum memory for the changes of all sessions together (${default}). A write beyond it gets 507."`
	ReadHeaderTimeout time.Duration `name:"read-header-timeout" default:"5s" variable:"PICKUP_READ_HEADER_TIMEOUT" placeholder:"TIME" help:"Time to receive the header of a request (${default})."`
	ReadTimeout       time.Duration `name:"read-timeout" default:"30s" variable:"PICKUP_READ_TIMEOUT" placeholder:"TIME" help:"Time to receive a whole request (${default}). A slower one gets 408."`
	WriteTimeout      time.Duration `name:"write-timeout" default:"60s" variable:"PICKUP_WRITE_TIMEOUT" placeholder:"TIME" help:"Time to send a response (${default})."`
	IdleTimeout       time.Duration `name:"idle-timeout" default:"120s" variable:"PICKUP_IDLE_TIMEOUT" placeholder:"TIME" help:"Time until an idle connection is closed (${default})."`
}

// A Size is a number of bytes, such as 4096, 64KiB, 10MB or 1g. Units are powers of 1024, but
// KB, MB and GB are powers of 1000.
type Size int64

// UnmarshalText parses a size.
func (s *Size) UnmarshalText(text []byte) error {
	t := strings.ToUpper(strings.TrimSpace(string(text)))
	digits := strings.TrimRight(t, "KMGIB")
	factor, known := units[strings.TrimSuffix(strings.TrimSuffix(t[len(digits):], "IB"), "I")]
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || !known || n < 0 || n > 1<<40/factor {
		return fmt.Errorf("%q is not a size, such as 4096, 64KiB or 10MiB", text)
	}
	*s = Size(n * factor)
	return nil
}

// units has the number of bytes of each unit, without the end of KiB, MiB and GiB.
var units = map[string]int64{
	"": 1, "B": 1, "K": 1 << 10, "KB": 1e3, "M": 1 << 20, "MB": 1e6, "G": 1 << 30, "GB": 1e9,
}

// String returns the size as a whole number of the largest possible unit.
func (s Size) String() string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if n := int64(1) << (10 * (3 - i)); s > 0 && int64(s)%n == 0 {
			return strconv.FormatInt(int64(s)/n, 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
