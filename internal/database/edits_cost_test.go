package database

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TestUndoesWide edits one field of a wide object after thousands of writes to another.
func TestUndoesWide(t *testing.T) {
	value := func(n, other int) jsontext.Value {
		var b strings.Builder
		fmt.Fprintf(&b, `{"n":%d,"other":%d`, n, other)
		for i := range 100 {
			fmt.Fprintf(&b, `,"field%d":%q`, i, strings.Repeat("x", 80))
		}
		return jsontext.Value(b.String() + "}")
	}
	const n = 1500
	var writes []Change
	for i := range n {
		writes = append(writes, Change{Op: Updated, Before: value(i, 0), After: value(i+1, 0)})
	}
	start := time.Now()
	if undoes(Change{Op: Updated, Before: value(n, 0), After: value(n, 1)}, writes) {
		t.Error("another field is no undone write")
	}
	if took := time.Since(start); took > time.Second { // it takes 10 ms
		t.Errorf("it takes %v to find that an edit undoes none of %d writes", took, n)
	}
	if !undoes(Change{Op: Updated, Before: value(n, 0), After: value(n-1, 1)}, writes) {
		t.Error("an older value is an undone write")
	}
}
