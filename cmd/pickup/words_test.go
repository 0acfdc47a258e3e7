package main

import "testing"

// TestWindowsWord writes arguments as cmd and PowerShell read them.
func TestWindowsWord(t *testing.T) {
	for s, want := range map[string]string{
		`data\db.json`:      `data\db.json`,
		`C:\my data\x.json`: `"C:\my data\x.json"`,
		`{"a": 1}`:          `"{\"a\": 1}"`,
	} {
		if got := windowsWord(s); got != want {
			t.Errorf("%s becomes %s, want %s", s, got, want)
		}
	}
}
