package document

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"pickup/internal/storage"
)

// TestMergeMembers merges each collection of the cases of testdata/merge as a file of its own.
// The result has the values that it has in the whole database.
func TestMergeMembers(t *testing.T) {
	files, err := filepath.Glob("testdata/merge/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	merged := 0
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sides, _ := mergeSides(t, "db.json5", a)
		whole, err := Merge(sides[0], sides[1], sides[2])
		if err != nil || len(whole.Conflicts) > 0 {
			continue
		}
		for _, m := range sides[0].members {
			var parts [3]*Document
			for i, d := range sides {
				for _, n := range d.members {
					if n.name == m.name {
						text := append([]byte("// the file\n"), n.valueText()...)
						if parts[i], err = ParseMember(m.name, "posts.json5", append(text, '\n'), d.idMember, nil); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			if parts[1] == nil || parts[2] == nil {
				continue
			}
			got, err := Merge(parts[0], parts[1], parts[2])
			if err != nil || len(got.Conflicts) > 0 {
				t.Errorf("%s: %s: %v %v", file, m.name, err, got)
				continue
			}
			merged++
			checkDocument(t, got.Ours)
			if is, want := got.Ours.Value(m.name), whole.Ours.Value(m.name); !sameValue(is, want) {
				t.Errorf("%s: %s:\n%s\nwant\n%s", file, m.name, is, want)
			}
		}
	}
	if merged < 40 {
		t.Errorf("%d merges", merged)
	}
}

// TestMemberPlaces looks up places in a file that is one member.
func TestMemberPlaces(t *testing.T) {
	d, err := ParseMember("posts", "posts.json", []byte("\ufeff// c\n[ {\"id\": 1},\n  {\"id\": 1, \"x\": 2} ]"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if u := d.Unreachable(); len(u) != 1 || u[0].Line != 3 || u[0].Column != 3 || u[0].Pointer != "/posts/1" {
		t.Errorf("%+v", u)
	}
	for i, p := range d.Places([]string{"", "/posts", "/posts/1/x", "/posts/7", "/users"}) {
		line, column, _ := p.Locate(p.Inside)
		if want := [][2]int{{1, 1}, {2, 1}, {3, 13}, {2, 1}, {1, 1}}[i]; line != want[0] || column != want[1] {
			t.Errorf("%d: %d:%d, not %v", i, line, column, want)
		}
	}
	for _, change := range []storage.Change{{Collection: "posts"}, {Collection: "users", Value: []byte("[]")}, {Collection: "users", ID: "1", Value: []byte("{}")}} {
		if _, err := d.Apply([]storage.Change{change}); err == nil {
			t.Errorf("%+v is possible", change)
		}
	}
	if _, err := ParseMember("posts", "posts.json", []byte("[{},\n{]"), nil, nil); err == nil || err.Error() != "posts.json:2:2: expected '}' to close the { on line 2, found ']'" {
		t.Error(err)
	}
}
