package schema

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// isoDateTime is the format of a date and time of ISO 8601 with or without a
// zone. JSON Schema's date-time is RFC 3339, which demands one.
var isoDateTime = &jsonschema.Format{Name: "iso-date-time", Validate: func(v any) error {
	if s, ok := v.(string); ok {
		return checkDateTime(s)
	}
	return nil
}}

// formatNames says what a value of a format is, for people.
var formatNames = map[string]string{
	"iso-date-time": "a date and time of the form YYYY-MM-DDTHH:MM:SS (Z or an offset may follow)",
	"date-time":     "a date and time of the form YYYY-MM-DDTHH:MM:SSZ (Z or an offset such as +02:00)",
	"date":          "a calendar date of the form YYYY-MM-DD",
	"time":          "a time of the form HH:MM:SSZ (Z or an offset such as +02:00)",
	"duration":      "a duration such as PT1H30M",
	"email":         "an e-mail address",
	"hostname":      "a host name",
	"ipv4":          "an IPv4 address",
	"ipv6":          "an IPv6 address",
	"uri":           "an absolute URI",
	"uri-reference": "a URI or a relative reference",
	"uuid":          "a UUID",
	"regex":         "a regular expression",
	"json-pointer":  "a JSON Pointer",
}

// checkDateTime returns what is wrong with a date and time, one clause.
func checkDateTime(s string) error {
	const form = "dddd-dd-ddTdd:dd:dd"
	if len(s) < len(form) {
		return errors.New("it is too short")
	}
	clock, zone := s[:len(form)], s[len(form):]
	for i := range len(form) {
		c := clock[i]
		if form[i] == 'd' && (c < '0' || c > '9') {
			return fmt.Errorf("character %d should be a digit", i+1)
		}
		if form[i] != 'd' && c != form[i] {
			return fmt.Errorf("character %d should be %q", i+1, form[i])
		}
	}
	if err := checkZone(zone); err != nil {
		return err
	}
	two := func(i int) int { return int(clock[i]-'0')*10 + int(clock[i+1]-'0') }
	year, month, day := two(0)*100+two(2), two(5), two(8)
	switch {
	case month < 1 || month > 12:
		return fmt.Errorf("there is no month %02d", month)
	case day < 1 || day > daysIn(year, month):
		return fmt.Errorf("%s %d has no day %02d", time.Month(month), year, day)
	case two(11) > 23:
		return fmt.Errorf("there is no hour %02d", two(11))
	case two(14) > 59:
		return fmt.Errorf("there is no minute %02d", two(14))
	case two(17) > 59:
		return fmt.Errorf("there is no second %02d", two(17))
	}
	return nil
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// checkZone takes what may stand behind the seconds.
func checkZone(zone string) error {
	const form = "+hh:mm"
	switch {
	case zone == "" || zone == "Z":
		return nil
	case strings.HasPrefix(zone, "."):
		return errors.New("fractions of a second are not taken")
	case len(zone) == len(form) && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':' &&
		upTo(zone[1:3], "23") && upTo(zone[4:6], "59"):
		return nil
	}
	return errors.New("behind the seconds may stand Z, an offset such as +02:00, or nothing")
}

// upTo reports whether s is a number of two digits up to most.
func upTo(s, most string) bool {
	return s[0] >= '0' && s[0] <= '9' && s[1] >= '0' && s[1] <= '9' && s <= most
}
