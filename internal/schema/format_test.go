package schema

import (
	"strings"
	"testing"
	"time"
)

// dateTime is what the format means, said with another parser.
func dateTime(s string) bool {
	if strings.ContainsAny(s, ".,") || strings.HasSuffix(s, "24:00") && len(s) > 20 || strings.Contains(s, ":60") {
		return false
	}
	_, local := time.Parse("2006-01-02T15:04:05", s)
	_, zoned := time.Parse("2006-01-02T15:04:05Z07:00", s)
	return local == nil || zoned == nil
}

// Every day of five centuries, and the days that there are not.
func TestEveryDay(t *testing.T) {
	for year := 1900; year <= 2400; year++ {
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
	for _, s := range []string{"2026-09-14T07:40:00", "2026-09-14T07:40:00Z", "2026-02-29T07:40:00+02:00", "2026-09-14T07:40:00-23:59", "2026-9-14T7:40:00", "", "2026-09-14T07:40:00.1Z", "2026-09-14T07:40:00+24:00", "0000-02-29T00:00:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := checkDateTime(s) == nil, dateTime(s); got != want {
			t.Errorf("%q: accepted %v", s, got)
		}
	})
}

func TestEmail(t *testing.T) {
	tests := []struct{ address, want string }{
		{"a@b", ""}, {"ruth.ellery@example.com", ""}, {"o'neil+kids/x=1@sub.example.co.uk", ""}, {"1@2.3", ""},
		{`"ruth ellery"@example.com`, ""}, {`"@"@example.com`, ""},
		{"a@[127.0.0.1]", ""}, {"a@[IPv6:::1]", ""},
		{strings.Repeat("a", 64) + "@" + strings.Repeat("b", 63) + ".example", ""},

		{"", "there is no @"}, {"ruth", "there is no @"}, {"ruth at example.com", "there is no @"},
		{"@example.com", "nothing stands before the @"}, {"ruth@", "nothing stands behind the @"}, {"@", "nothing stands before the @"},
		{".a@b", "before the @ a dot stands without something on either side"},
		{"a.@b", "before the @ a dot stands without something on either side"},
		{"a..b@c", "before the @ a dot stands without something on either side"},
		{"a@b..c", "behind the @ a dot stands without something on either side"},
		{"a@.b", "behind the @ a dot stands without something on either side"},
		{"a@b.", "behind the @ a dot stands without something on either side"},
		{"a b@c", "' ' may not stand before the @"}, {"a@b c", "' ' may not stand behind the @"},
		{"Ruth <ruth@example.com>", "' ' may not stand before the @"}, {"a@b@c", "'@' may not stand before the @"},
		{"a,b@c", "',' may not stand before the @"}, {"ü@b", "'ü' may not stand before the @"}, {"a@b_c", "'_' may not stand behind the @"},
		{"a\n@b", `'\n' may not stand before the @`}, {"a@b\n", `'\n' may not stand behind the @`},
		{`"a"b"@c`, `'"' may not stand between the quotes`}, {`"@c`, `'"' may not stand before the @`},
		{"a@-b.c", `"-b" begins or ends with a hyphen`}, {"a@b-.c", `"b-" begins or ends with a hyphen`},
		{"a@[1.2.3]", "behind the @ is no IP address in brackets"}, {"a@[::1]", "behind the @ is no IP address in brackets"},
		{"a@[127.0.0.1", "behind the @ is no IP address in brackets"}, {"a@[IPv6:127.0.0.1]", "behind the @ is no IP address in brackets"},
		{strings.Repeat("a", 65) + "@b", "it is too long"}, {"a@" + strings.Repeat("b.", 130) + "c", "it is too long"},
		{"a@" + strings.Repeat("b", 64), "behind the @ is a part that is too long"},
	}
	for _, tt := range tests {
		got := ""
		if err := checkEmail(tt.address); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.address, got, tt.want)
		}
	}
}
