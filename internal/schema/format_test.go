package schema

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var dateTimeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?$`)

// dateTime reports whether s has the format, by its form and the calendar.
func dateTime(s string) bool {
	if !dateTimeForm.MatchString(s) {
		return false
	}
	var n [6]int
	for i, at := range []int{2, 5, 8, 11, 14, 17} {
		n[i], _ = strconv.Atoi(s[at : at+2])
	}
	century, _ := strconv.Atoi(s[:2])
	year := century*100 + n[0]
	t := time.Date(year, time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.UTC)
	return t.Format("2006-01-02T15:04:05") == s[:19]
}

// TestEveryDay checks every day of years of each kind, or of five centuries with
// PICKUP_LONG, and days that do not exist.
func TestEveryDay(t *testing.T) {
	years := []int{1900, 1901, 1904, 1999, 2000, 2001, 2024, 2100, 2399, 2400}
	if os.Getenv("PICKUP_LONG") != "" {
		for year := 1900; year <= 2400; year++ {
			years = append(years, year)
		}
	}
	for _, year := range years {
		for month := range 14 {
			for day := range 33 {
				s := strings.Join([]string{pad(year, 4), pad(month, 2), pad(day, 2)}, "-") + "T12:30:00Z"
				if got, want := checkDateTime(s) == nil, dateTime(s); got != want {
					t.Fatalf("%s: accepted %v", s, got)
				}
			}
		}
	}
	for h := range 100 {
		for m := range 100 {
			s := "2026-09-14T" + pad(h, 2) + ":" + pad(m, 2) + ":00"
			if got, want := checkDateTime(s) == nil, dateTime(s); got != want {
				t.Fatalf("%s: accepted %v", s, got)
			}
			s = "2026-09-14T00:00:" + pad(m, 2) + "+" + pad(h, 2) + ":00"
			if got, want := checkDateTime(s) == nil, dateTime(s); got != want {
				t.Fatalf("%s: accepted %v", s, got)
			}
		}
	}
}

func pad(n, width int) string {
	s := ""
	for range width {
		s = string(rune('0'+n%10)) + s
		n /= 10
	}
	return s
}

func FuzzDateTime(f *testing.F) {
	for _, s := range []string{
		"2026-09-14T07:40:00", "2026-09-14T07:40:00Z", "2026-02-29T07:40:00+02:00", "2026-09-14T07:40:00-23:59", "2026-9-14T7:40:00",
		"", "2026-09-14T07:40:00.1Z", "2026-09-14T07:40:00+24:00", "0000-02-29T00:00:00", "2026-09-14T7:40:00Z", "2026-09-14T7:40:00+02:00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := checkDateTime(s) == nil, dateTime(s); got != want {
			t.Errorf("%q: accepted %v", s, got)
		}
	})
}

func TestEmail(t *testing.T) {
	long := strings.Repeat
	valid := []string{
		"a@b", "ruth.ellery@example.com", "o'neil+kids/x=1@sub.example.co.uk", "1@2.3",
		`"ruth ellery"@example.com`, `"@"@example.com`, "a@[127.0.0.1]", "a@[IPv6:::1]",
		long("a", 64) + "@" + long("b", 63) + ".example",
	}
	invalid := []string{
		"", "ruth", "ruth at example.com", "@example.com", "ruth@", "@",
		".a@b", "a.@b", "a..b@c", "a@b..c", "a@.b", "a@b.", "a@b.c.",
		"a b@c", "a@b c", "Ruth <ruth@example.com>", "a@b@c", "a,b@c", "ü@b", "a@b_c", "a\n@b", "a@b\n",
		`"a"b"@c`, `"@c`, "a@-b.c", "a@b-.c", "a@[1.2.3]", "a@[::1]", "a@[127.0.0.1", "a@[IPv6:127.0.0.1]",
		long("a", 65) + "@b", "a@" + long("b.", 130) + "c", "a@" + long("b", 64),
	}
	for _, s := range valid {
		if err := email.Validate(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range invalid {
		if email.Validate(s) == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}
