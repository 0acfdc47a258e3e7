package httpx

import "testing"

// TestIsTagList tells lists of tags from what looks like them.
func TestIsTagList(t *testing.T) {
	for value, want := range map[string]bool{
		`*`: true, ` * `: true, ``: true, `"a"`: true, `W/"a"`: true, `"a", "b"`: true, `"a" ,,W/"b",`: true, `""`: true,
		`"a"x`: false, `"a" "b"`: false, `a`: false, `"a`: false, `w/"a"`: false, `*, "a"`: false, `"a", *`: false, `"a",b`: false, `W/`: false,
	} {
		if got := IsTagList([]string{value}); got != want {
			t.Errorf("%s: %t", value, got)
		}
	}
	if IsTagList([]string{"*", "*"}) {
		t.Error("two stars are a list")
	}
}
