package spell

import (
	"slices"
	"testing"
)

func TestNearName(t *testing.T) {
	known := []string{"id", "line1", "note", "title", "überall"}
	tests := []struct{ name, want string }{
		{"ID", "id"}, {"TITLE", "title"}, {"Note", "note"}, {"ÜBERALL", "überall"},
		{"titl", "title"}, {"itle", "title"}, {"titlee", "title"}, {"atitle", "title"}, {"tixle", "title"}, {"tit1e", "title"},
		{"tilte", "title"}, {"titel", "title"}, {"ittle", "title"},
		{"uberall", "überall"},
		{"notes", ""}, {"not", ""}, {"nota", ""}, {"i", ""}, {"", ""}, // short names have too many neighbours
		{"tlite", ""}, {"titlees", ""}, {"tit", ""}, {"Titl", ""}, // two slips
		{"line2", ""}, {"line", ""}, {"line12", ""}, {"title2", ""}, {"lin1e", ""}, // a digit is no letter
		{"title", ""}, {"something else", ""},
	}
	for _, tt := range tests {
		if got := NearName(tt.name, known); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestDistance finds every word that is one typing error away, and no others.
func TestDistance(t *testing.T) {
	const alphabet = "abc"
	var words []string
	for a := range 3 * 3 * 3 * 3 {
		w := ""
		for n := a; n > 0; n /= 3 {
			w += alphabet[n%3 : n%3+1]
		}
		words = append(words, w, w+"c")
	}
	one := func(w string) (near []string) {
		for i := range len(w) + 1 {
			for _, c := range alphabet {
				near = append(near, w[:i]+string(c)+w[i:])
				if i < len(w) && w[i] != byte(c) {
					near = append(near, w[:i]+string(c)+w[i+1:])
				}
			}
			if i < len(w) {
				near = append(near, w[:i]+w[i+1:])
			}
		}
		return near
	}
	for _, a := range words {
		near := one(a)
		for _, b := range words {
			if got, want := distance(a, b) == 1, slices.Contains(near, b) || swapped(a, b); got != want {
				t.Fatalf("%q and %q: %d slips", a, b, distance(a, b))
			}
		}
	}
}

// swapped reports whether two neighbours changed places between a and b.
func swapped(a, b string) bool {
	for i := range max(0, len(a)-1) {
		if a != b && a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b {
			return true
		}
	}
	return false
}

func TestNearest(t *testing.T) {
	statuses := []string{"Scheduled", "Canceled", "Rescheduled"}
	tests := []struct {
		word    string
		allowed []string
		want    string
	}{
		{word: "Scheduld", allowed: statuses, want: "Scheduled"},
		{word: "scheduled", allowed: statuses, want: "Scheduled"},
		{word: "SCHEDULED", allowed: statuses, want: "Scheduled"},
		{word: "Shceduled", allowed: statuses, want: "Scheduled"},
		{word: "Cancelled", allowed: statuses, want: "Canceled"},
		{word: "cancel", allowed: statuses, want: "Canceled"},
		{word: "Re-scheduled", allowed: statuses, want: "Rescheduled"},
		{word: "Rescheduling", allowed: statuses},
		{word: "Cancellation", allowed: statuses},
		{word: "Unscheduled", allowed: statuses}, // as near to Scheduled as to Rescheduled
		{word: "Done", allowed: statuses},
		{word: "", allowed: statuses},
		{word: "on", allowed: []string{"off", "no"}}, // too short to tell
		{word: "chekc", allowed: []string{"check", "serve"}, want: "check"},
		{word: "gtee", allowed: []string{"gt", "gte"}, want: "gte"},
		{word: "kitten", allowed: []string{"sitting"}},
		{word: "x"},
	}
	for _, tt := range tests {
		if got := Nearest(tt.word, tt.allowed); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.word, got, tt.want)
		}
	}
}
