package system

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pickup/internal/tools/servertest"
)

// TestEditor opens databases, for which pickup init has made the schema, in the
// language service of VS Code: it completes names and choices, and underlines what
// breaks a rule.
func TestEditor(t *testing.T) {
	t.Parallel()
	const notes = `{
  "notes": [
    { "id": 1, "text": "a b", "kind": "todo" },
    { "id": 2, "text": "c d", "kind": "done" },
    { "id": 3, "text": "e f", "kind": "todo" },
    { "id": 4, "text": "g h", "kind": "todo" },
    { "id": 5, "text": "i j", "kind": "done" }
  ]
}
`
	for _, test := range []struct {
		name     string
		existing string            // the database before init, "" without one
		old      string            // is replaced by an edit
		complete map[string]string // an edit with <cursor>, and the completions that it must have
		wrong    string            // an edit that breaks a rule
		line     string            // that is underlined
	}{
		{
			name: "from nothing",
			old:  `"status": "draft", "views": 0`,
			complete: map[string]string{
				`"status": <cursor>`:            `"draft" "published"`,
				`"status": "draft", "<cursor>"`: `views`,
			},
			wrong: `"status": "drft"`,
			line:  `5: Value is not accepted. Valid values: "draft", "published".`,
		},
		{
			name:     "existing",
			existing: notes,
			old:      `"kind": "todo" },` + "\n" + `    { "id": 4`,
			complete: map[string]string{
				`"kind": <cursor> },` + "\n" + `    { "id": 4`: `"todo" "done"`,
			},
			wrong: `"kind": "tdo" },` + "\n" + `    { "id": 4`,
			line:  `6: Value is not accepted. Valid values: "todo", "done".`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "db.json")
			if test.existing != "" {
				if err := os.WriteFile(file, []byte(test.existing), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.Command(servertest.Built(t), "init", file).CombinedOutput(); err != nil {
				t.Fatalf("init: %v\n%s", err, out)
			}
			text := string(servertest.Read(t, file))
			if found, _ := openInEditor(t, file, text); len(found) > 0 {
				t.Errorf("it underlines what init has made: %q", found)
			}
			for edit, want := range test.complete {
				_, got := openInEditor(t, file, strings.Replace(text, test.old, edit, 1))
				for label := range strings.FieldsSeq(want) {
					if !slices.Contains(got, label) {
						t.Errorf("at %s it completes %q, want %s", edit, got, label)
					}
				}
			}
			if found, _ := openInEditor(t, file, strings.Replace(text, test.old, test.wrong, 1)); !slices.Equal(found, []string{test.line}) {
				t.Errorf("it underlines %q, want %q", found, test.line)
			}
		})
	}
}

// openInEditor returns what an editor underlines in a file with that text, and what
// it completes at <cursor>.
func openInEditor(t *testing.T, file, text string) (diagnostics, completions []string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	editor := exec.CommandContext(t.Context(), "node", "editor.mjs", file)
	editor.Dir, editor.Stderr = "../../server/testdata/clients/openapi", os.Stderr
	out, err := editor.Output()
	if err != nil {
		t.Fatalf("%v (make setup installs the language service)", err)
	}
	var shown struct{ Diagnostics, Completions []string }
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return shown.Diagnostics, shown.Completions
}
