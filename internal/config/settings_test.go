package config

import "testing"

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
