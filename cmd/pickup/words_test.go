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

func TestIsOrigin(t *testing.T) {
	for s, want := range map[string]bool{
		"*": true, "https://app.example": true, "https://app.example/": true, "http://localhost:5173": true,
		"http://[::1]:3000": true, "capacitor://localhost": true,
		"": false, "foo": false, "app.example": false, "//app.example": false, "app.example:443": false,
		"https://": false, "https://:443": false, "https://app.example/page": false, "https://app.example?x": false,
		"https://app.example#x": false, "https://me@app.example": false, "null": false, "**": false,
		"https://app.example:port": false,
	} {
		if isOrigin(s) != want {
			t.Errorf("isOrigin(%q) is not %v", s, want)
		}
	}
}
