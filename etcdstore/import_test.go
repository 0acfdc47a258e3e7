package etcdstore

import (
	"strings"
	"testing"
)

// TestImportPrefix imports into prefixes that have keys already. Nobody's keys are
// deleted but those of an import that was interrupted.
func TestImportPrefix(t *testing.T) {
	c := oneNode(t)
	family := open(t, c, `{"items":[{"id":"1"}]}`)
	top := strings.TrimSuffix(family.prefix, "/")
	other := connect(t, c, top+"-others/")
	write(t, other, other.prefix+"configmaps/a", "1")
	interrupted := connect(t, c, top+"-again/")
	write(t, interrupted, interrupted.prefix+"c/000001/items", "[]")
	write(t, interrupted, interrupted.prefix+"r/items/000000000000/1", `{"id":"1"}`)
	write(t, interrupted, interrupted.prefix+"p/abc.1/000000", "[1,")

	for _, tt := range []struct{ name, prefix, refused string }{
		{name: "above another database", prefix: "/test/", refused: "has keys of others, such as /test/"},
		{name: "within another database", prefix: family.prefix + "a/b/", refused: "is within the database at " + top + ": choose"},
		{name: "keys of another program", prefix: other.prefix, refused: "such as " + other.prefix + "configmaps/a: choose"},
		{name: "after an interruption", prefix: interrupted.prefix},
	} {
		s := connect(t, c, tt.prefix)
		_, err := s.Import(t.Context(), contentsOf(`{"new":[]}`), nil)
		switch {
		case tt.refused == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)):
			t.Errorf("%s: %v, want %s", tt.name, err, tt.refused)
		}
	}
	if got := text(load(t, family).Contents); !strings.Contains(got, `"1"={"id":"1"}`) {
		t.Errorf("the other database has %s", got)
	}
	if got := text(load(t, interrupted).Contents); got != "new 0 null:\n" {
		t.Errorf("after an interruption: %s", got)
	}
	r, err := other.get(t.Context(), "configmaps/a")
	if err != nil || len(r.Kvs) != 1 {
		t.Errorf("the key of another program: %v, %v", r, err)
	}
}
