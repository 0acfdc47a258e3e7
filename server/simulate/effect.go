package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// An Effect is what is done to a request. Its parts are independent of each other.
type Effect struct {
	Delay *Range // before anything else; nil: not said
	Hold  string // the name under which the request waits to be released
	Outcome
}

// An Outcome is how a request ends: with a status, or with a fault.
type Outcome struct {
	Code    int            // 0: it is not said
	Body    jsontext.Value // with the newline that ends it; nil: none
	Headers map[string]string
	Fault   Fault
	Rule    bool // a rule says it, not the request
}

// Or returns e with the parts of f that e does not say.
func (e Effect) Or(f Effect) Effect {
	if e.Delay == nil {
		e.Delay = f.Delay
	}
	if e.Hold == "" {
		e.Hold = f.Hold
	}
	if e.Code == 0 && e.Fault == "" {
		e.Outcome = f.Outcome
	}
	return e
}

// ErrTooLong reports a delay that is longer than the server allows.
var ErrTooLong = errors.New("too long")

// Set sets the part of an effect with that name. least is the lowest code that is allowed.
func (e *Effect) Set(name, value string, least int, maxDelay time.Duration) error {
	switch name {
	case "delay":
		delay, err := ParseRange(value)
		if err != nil {
			return err
		}
		if delay.Max > maxDelay {
			return fmt.Errorf("%s is %w: a delay is at most %d ms (--max-delay)", delay, ErrTooLong, maxDelay.Milliseconds())
		}
		e.Delay = &delay
	case "code":
		code, err := strconv.Atoi(value)
		if err != nil || code < least || code > 599 {
			return fmt.Errorf("must be a status from %d to 599, not %s", least, rawjson.Shorten(value))
		}
		e.Code = code
	case "fault":
		if !slices.Contains(faults, value) {
			return fmt.Errorf("there is no fault %q%s", rawjson.Shorten(value), spell.DidYouMean(value, "the faults", faults))
		}
		e.Fault = Fault(value)
	case "hold":
		if !IsName(value) {
			return errors.New("a hold name is 1 to 64 characters: letters, digits, dot, underscore or hyphen")
		}
		e.Hold = value
	}
	return nil
}

// A Fault is a way in which a connection fails.
type Fault string

// The faults.
const (
	ConnectionReset Fault = "connection-reset" // before anything is done
	EmptyResponse   Fault = "empty-response"   // the connection is closed before anything is done
	LostAnswer      Fault = "lost-answer"      // after the request has been done
)

var faults = []string{string(ConnectionReset), string(EmptyResponse), string(LostAnswer)}

// A Range is a time between Min and Max.
type Range struct{ Min, Max time.Duration }

// maxMilliseconds keeps a Range within a time.Duration.
const maxMilliseconds = 1 << 40

// ParseRange parses milliseconds, as in "500", or a range of them, as in "200-800".
func ParseRange(s string) (Range, error) {
	low, high, isRange := strings.Cut(s, "-")
	if !isRange {
		high = low
	}
	a, err := strconv.ParseUint(low, 10, 64)
	b, err2 := strconv.ParseUint(high, 10, 64)
	if err != nil || err2 != nil || a > b || b > maxMilliseconds {
		return Range{}, fmt.Errorf("%q is not a time in milliseconds, as in 500, or a range, as in 200-800", rawjson.Shorten(s))
	}
	return Range{time.Duration(a) * time.Millisecond, time.Duration(b) * time.Millisecond}, nil
}

// String returns the range as ParseRange reads it.
func (r Range) String() string {
	if r.Min == r.Max {
		return strconv.FormatInt(r.Min.Milliseconds(), 10)
	}
	return fmt.Sprintf("%d-%d", r.Min.Milliseconds(), r.Max.Milliseconds())
}

// UnmarshalText parses a range.
func (r *Range) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRange(string(text))
	return err
}

// Pick returns a time of the range in whole milliseconds, each equally likely.
func (r Range) Pick(dice Dice) time.Duration {
	n := (r.Max-r.Min)/time.Millisecond + 1
	return r.Min + time.Duration(dice()*float64(n))*time.Millisecond
}

// Dice returns random numbers from 0 up to, but not including, 1. It may be called
// by several goroutines at once.
type Dice func() float64

// Random returns dice that differ at each start.
func Random() Dice { return rand.Float64 }

// Seeded returns dice that repeat for the same seed.
func Seeded(seed uint64) Dice {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, seed))
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Float64()
	}
}

// IsName reports whether a client may give s as a name, of a hold for example. Clients
// take "." and ".." out of a path, which then leads elsewhere.
func IsName(s string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	return 0 < len(s) && len(s) <= 64 && strings.Trim(s, allowed) == "" && s != "." && s != ".."
}
