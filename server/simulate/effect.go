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

// An Effect says how to simulate a response. The parts are independent of each other.
type Effect struct {
	Delay *Range // before anything else; nil: unset
	Hold  string // name under which the request is held; "": unset
	Outcome
}

// An Outcome is how a request ends: with a status, or with a fault.
type Outcome struct {
	Code    int            // 0: unset
	Body    jsontext.Value // with a final newline; nil: none
	Headers map[string]string
	Fault   Fault
	Stub    bool // the outcome comes from a stub, not from the request
}

// Or returns e with unset parts taken from f.
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

// IsEmpty reports whether all parts of e are unset.
func (e Effect) IsEmpty() bool {
	return e.Delay == nil && e.Hold == "" && e.Code == 0 && e.Fault == ""
}

// ErrTooLong reports a delay above the maximum.
var ErrTooLong = errors.New("too long")

// Set sets the part of an effect with that name. least is the lowest allowed code.
func (e *Effect) Set(name, value string, least int, maxDelay time.Duration) error {
	switch name {
	case "delay":
		delay, err := ParseRange(value)
		if err != nil {
			return err
		}
		if delay.Max > maxDelay {
			return fmt.Errorf("%s is %w: a delay is at most %d ms (--max-delay)", delay, ErrTooLong,
				maxDelay.Milliseconds())
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
			return fmt.Errorf("there is no fault %q%s", rawjson.Shorten(value),
				spell.DidYouMean(value, "the faults", faults))
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
	ConnectionReset Fault = "connection-reset" // reset the connection instead of serving the request
	EmptyResponse   Fault = "empty-response"   // close the connection instead of serving the request
	LostAnswer      Fault = "lost-answer"      // serve the request, then reset the connection
)

var faults = []string{string(ConnectionReset), string(EmptyResponse), string(LostAnswer)}

// A Range is a time between Min and Max.
type Range struct{ Min, Max time.Duration }

// maxMilliseconds prevents a Range from overflowing time.Duration.
const maxMilliseconds = 1 << 40

// ParseRange parses milliseconds, as in "500", or a range, as in "200-800".
func ParseRange(s string) (Range, error) {
	low, high, isRange := strings.Cut(s, "-")
	if !isRange {
		high = low
	}
	a, err := strconv.ParseUint(low, 10, 64)
	b, err2 := strconv.ParseUint(high, 10, 64)
	if err != nil || err2 != nil || a > b || b > maxMilliseconds {
		return Range{}, fmt.Errorf("%q is not a time in milliseconds, as in 500, or a range, as in 200-800",
			rawjson.Shorten(s))
	}
	return Range{time.Duration(a) * time.Millisecond, time.Duration(b) * time.Millisecond}, nil
}

// String formats the range for ParseRange.
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

// Pick returns a random time of the range in whole milliseconds.
func (r Range) Pick(dice Dice) time.Duration {
	n := (r.Max-r.Min)/time.Millisecond + 1
	return r.Min + time.Duration(dice()*float64(n))*time.Millisecond
}

// Dice returns random numbers from 0 up to, but not including, 1. Several goroutines may call
// Dice at once.
type Dice func() float64

// Random returns dice with a random seed.
func Random() Dice { return rand.Float64 }

// Seeded returns dice with the given seed.
func Seeded(seed uint64) Dice {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, seed))
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Float64()
	}
}

// IsName reports whether s is a valid name, for example of a hold. "." and ".." are invalid
// because clients remove the two from a path.
func IsName(s string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	return 0 < len(s) && len(s) <= 64 && strings.Trim(s, allowed) == "" && s != "." && s != ".."
}
