package document

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestExplainConflicts parses files with git's markers.
func TestExplainConflicts(t *testing.T) {
	many := "{\n"
	for i := range 30 {
		many += fmt.Sprintf("<<<<<<< a\n  \"x%d\": 1,\n=======\n  \"x%d\": 2,\n>>>>>>> b\n", i, i)
	}
	for _, test := range []struct{ name, text, want string }{
		{
			name: "git's own names, and the base",
			text: "{\n  \"posts\": [\n<<<<<<< HEAD\n    { \"id\": 1, \"a\": 2 }\n||||||| 1a2b3c4\n    { \"id\": 1, \"a\": 1 }\n=======\n    { \"id\": 1, \"a\": 3 }\n>>>>>>> feature\n  ]\n}\n",
			want: `3:1: 1 merge conflict; choose a side of each and remove the markers: posts/1/a is 2 (HEAD) or 3 (feature)`,
		},
		{
			name: "a side that does not parse",
			text: "{\n<<<<<<< HEAD\n  \"a\": 1,\n=======\n  \"a\": 2\n>>>>>>> x\n<<<<<<< HEAD\n  \"b\": 1\n=======\n  \"b\": 2\n>>>>>>> x\n}\n",
			want: `2:1: 2 merge conflicts; choose a side of each and remove the markers`,
		},
		{
			name: "CRLF, and a deleted field",
			text: "{\r\n<<<<<<< HEAD\r\n  \"a\": { \"x\": 1, \"y\": [1] }\r\n=======\r\n  \"a\": { \"x\": 1 }\r\n>>>>>>> x\r\n}\r\n",
			want: `2:1: 1 merge conflict; choose a side of each and remove the markers: a/y is [1] (HEAD) or absent (x)`,
		},
		{
			name: "a whole commit hash",
			text: "{\n<<<<<<< HEAD\n  \"a\": 1\n=======\n  \"a\": 2\n>>>>>>> b71e9128c3d1a0f2e4b5968778695a4b3c2d1e0f\n}\n",
			want: `: a is 1 (HEAD) or 2 (b71e912)`,
		},
		{name: "an error before the markers", text: "{ a\n<<<<<<< HEAD\n=======\n>>>>>>> x\n}", want: "1:3: "},
		{name: "a marker alone", text: "{\n<<<<<<< HEAD\n", want: "2:1: 1 merge conflict; "},
		{name: "no marker", text: "{\n=======\n}", want: "2:1: this is a merge conflict marker"},
		{name: "many", text: many + "}", want: "; x19 is 1 (a) or 2 (b); and 10 more"},
	} {
		if _, err := Parse("db.json", []byte(test.text), nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

// TestExplainDeepConflicts parses a large file with a conflict at its bottom: it takes time
// in proportion to its size.
func TestExplainDeepConflicts(t *testing.T) {
	const deep = 9000
	begin := time.Now()
	text := "{" + strings.Repeat("\"a\":{", deep) + "\n<<<<<<< a\n\"x\":1\n=======\n\"x\":2\n>>>>>>> b\n,\"y\":\"" +
		strings.Repeat("x", 1<<20) + "\"" + strings.Repeat("}", deep) + "}"
	if _, err := Parse("db.json", []byte(text), nil); err == nil || !strings.Contains(err.Error(), "1 merge conflict") {
		t.Error(err)
	}
	if took := time.Since(begin); took > 30*time.Second { // quadratic time takes far longer
		t.Errorf("it took %v", took)
	}
}
