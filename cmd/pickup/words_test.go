package main

import "testing"

func TestSlips(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"serve", "serve", 0},
		{"serv", "serve", 1}, {"srve", "serve", 1}, {"server", "serve", 1},
		{"chekc", "check", 2}, {"kitten", "sitting", 3}, {"notes", "serve", 5},
	} {
		if got := slips(c.a, c.b); got != c.want {
			t.Errorf("slips(%q, %q) is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
