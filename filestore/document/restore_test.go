package document

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pickup/internal/storage"
)

// TestAddAndRemove checks that new records and their removal leave the text as it was,
// wherever it has blanks, line breaks and comments, in empty collections, too.
func TestAddAndRemove(t *testing.T) {
	for _, layout := range addLayouts() {
		t.Run(layout.name, func(t *testing.T) {
			addAndRemove(t, "", "db.json", layout.text, 1)
			addAndRemove(t, "", "db.json", layout.text, 2)
		})
	}
	files, _ := filepath.Glob("testdata/golden/*.txtar")
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file := parseGolden(data).files[0].Name
			only := strings.TrimSuffix(file, filepath.Ext(file))
			if only == "db" {
				only = ""
			}
			addAndRemove(t, only, file, string(goldenInput(data)), 1)
		})
	}
}

type addLayout struct{ name, text string }

// addLayouts returns files with a collection of one record and an empty one, with blanks.
func addLayouts() (layouts []addLayout) {
	spacings := map[string]string{
		"lines":    "{\n  'books': [\n    {\n      'id': 1,\n      't': 'a'\n    }@A\n  ]@B,\n  'empty': @E@C\n}\n",
		"line":     "{\n  'books': [\n    { 'id': 1, 't': 'a' }@A\n  ]@B,\n  'empty': @E@C\n}\n",
		"windows":  "{\r\n\t'books': [\r\n\t\t{'id': 1, 't': 'a'}@A\r\n\t]@B,\r\n\t'empty': @E@C\r\n}\r\n",
		"hugging":  "{\n  'books': [{\n    'id': 1\n  }@A]@B,\n  'empty': @E@C\n}\n",
		"minified": "{'books':[{'id':1,'t':'a'}@A]@B,'empty':@E@C}",
		"one line": "{ 'books': [ {'id': 1, 't': 'a'}@A ]@B, 'empty': @E@C }\n",
	}
	blanks := []string{
		" ", "  ", "\t ", " // c\n", "  // c\n", "   // c \n",
		" /* c */ ", "  /* c */", " // c\n  ", " /* c */  \n\n", "\n\n", "\n",
	}
	for spacing, text := range spacings {
		for place := range 4 {
			for _, blank := range blanks {
				for _, empty := range []string{"[]", "[ ]", "[\n  ]", "[\n\n  ]", "[  \n  ]"} {
					at := []string{"", "", "", ""}
					at[place] = blank
					r := strings.NewReplacer("'", `"`, "@A", at[0], "@B", at[1], "@C", at[2], "@E", empty)
					name := fmt.Sprintf("%s/%d%q%q", spacing, place, blank, empty)
					layouts = append(layouts, addLayout{name, r.Replace(text)})
				}
			}
		}
	}
	return layouts
}

// addAndRemove adds n records to each collection and removes them again, the last first.
func addAndRemove(t *testing.T, only, file, text string, n int) {
	t.Helper()
	d, err := ParseMember(only, file, []byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range d.members {
		if m.array == nil {
			continue
		}
		next := d
		apply := func(id, value string) {
			t.Helper()
			c := storage.Change{Collection: m.name, ID: id}
			if value != "" {
				c.Value = []byte(value)
			}
			if next, err = next.Apply([]storage.Change{c}); err != nil {
				t.Fatal(err)
			}
			checkDocument(t, next)
		}
		for i := range n {
			apply(fmt.Sprint("new", i), fmt.Sprintf(`{"id":"new%d","t":"x"}`, i))
		}
		added := next
		for i := range n {
			apply(fmt.Sprint("new", n-1-i), "")
		}
		if got := string(next.Bytes()); got != text {
			t.Errorf("%s: of\n%q\nby\n%q\nit became\n%q", m.name, text, added.Bytes(), got)
		}
	}
}
