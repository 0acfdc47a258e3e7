package main

import (
	"fmt"
	"strconv"
	"time"
)

// repetition is the settings by which a server does the same at each start, for
// screenshots and recorded tests.
type repetition struct {
	Seed string  `variable:"PICKUP_SEED" placeholder:"N" help:"Repeat new ids, and what is random about simulated answers, at each start."`
	Now  instant `variable:"PICKUP_NOW" placeholder:"TIME" help:"Begin each start at this time, such as 2026-01-31T12:00:00Z: for x-now, UUIDs and the history."`
}

// check returns an error if a setting has no meaning.
func (r *repetition) check(public bool) error {
	if _, err := strconv.ParseUint(r.Seed, 10, 64); err != nil && r.Seed != "" {
		return usagef("--seed: %q is not a whole number from 0 on", r.Seed)
	}
	switch {
	case public && r.Seed != "":
		return usagef("--seed cannot be used with --no-auth=public: others could foresee what is random")
	case public && !r.Now.IsZero():
		return usagef("--now cannot be used with --no-auth=public: others would take its times for real ones")
	}
	return nil
}

// seed returns the seed, nil if there is none.
func (r *repetition) seed() *uint64 {
	n, err := strconv.ParseUint(r.Seed, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// An instant is a time that is typed as in RFC 3339, or as a date. The zero value is
// none.
type instant struct{ time.Time }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *instant) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		return nil // as config prints it
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if i.Time, err = time.Parse(layout, string(text)); err == nil {
			break
		}
	}
	if year := i.UTC().Year(); err != nil || year < 1970 || year > 9998 { // the clock runs on, and JSON has no year 10000
		return fmt.Errorf("%q is not a time such as 2026-01-31T12:00:00Z or a date, from 1970 to 9998", text)
	}
	return nil
}

func (i instant) String() string {
	if i.IsZero() {
		return ""
	}
	return i.Format(time.RFC3339Nano)
}
