package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
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
	nested := connect(t, c, top+"-nested/")
	if _, err := connect(t, c, nested.prefix+"p/within/").Import(t.Context(), contentsOf(`{"items":[{"id":"1"}]}`), nil); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ name, prefix, refused string }{
		{name: "above another database", prefix: "/test/", refused: "has keys of other programs, such as /test/"},
		{name: "within another database", prefix: family.prefix + "a/b/", refused: "is within the database at " + top + ": choose"},
		{name: "keys of another program", prefix: other.prefix, refused: "such as " + other.prefix + "configmaps/a: choose"},
		{name: "above a database, next to no other key", prefix: nested.prefix, refused: "such as " + nested.prefix + "p/within/"},
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
	r, err := other.get(t.Context(), writeTime, "configmaps/a")
	if err != nil || len(r.Kvs) != 1 {
		t.Errorf("the key of another program: %v, %v", r, err)
	}
}

// TestImportPortions imports more than one transaction takes, with values of up to a
// mebibyte.
func TestImportPortions(t *testing.T) {
	c := oneNode(t)
	object := func(id string, size int) string {
		v := fmt.Sprintf(`{"id":%q,"t":""}`, id)
		return v[:len(v)-2] + strings.Repeat("x", size-len(v)) + v[len(v)-2:]
	}
	var items strings.Builder
	items.WriteString(object("large", maxValue))
	for i := range 2*maxOperations + 10 {
		fmt.Fprintf(&items, `,{"id":"%d"}`, i)
	}
	for i := range 3 {
		items.WriteString("," + object(fmt.Sprint("large", i), maxValue))
	}
	contents := contentsOf(`{"items":[` + items.String() + `],"obj":` + object("o", maxValue) + `}`)
	s := connect(t, c, "/test/portions/")
	if _, err := s.Import(t.Context(), contents, nil); err != nil {
		t.Fatal(err)
	}
	b := load(t, another(t, c, s))
	if text(b.Contents) != text(contents) {
		t.Error("the contents are others")
	}
	set(t, s, b.Rev, "large", object("large", maxValue)) // it can be written, too

	s = connect(t, c, "/test/larger/")
	_, err := s.Import(t.Context(), contentsOf(`{"items":[`+object("larger", maxValue+1)+`]}`), nil)
	if !errors.Is(err, storage.ErrTooLarge) || !strings.Contains(err.Error(), "the value of r/items/000000000000/larger has 1,048,577 bytes; etcd takes 1,048,576") {
		t.Errorf("a record of more than a mebibyte: %v, want ErrTooLarge", err)
	}
	if _, err := s.Latest(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after an import that was refused: %v, want ErrNotExist", err)
	}
}

// A hooked cluster calls before ahead of each transaction, and does not send it if that
// returns an error.
type hooked struct {
	cluster
	before func() error
}

func (h *hooked) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if op.IsTxn() {
		if err := h.before(); err != nil {
			return clientv3.OpResponse{}, err
		}
	}
	return h.cluster.Do(ctx, op)
}

// TestImportTogether begins another import before each transaction of one, and ends it
// after some of its own. The first import then fails, or the database is whole.
func TestImportTogether(t *testing.T) {
	c := oneNode(t)
	var items strings.Builder
	for i := range maxOperations + 10 {
		fmt.Fprintf(&items, `,{"id":"%d"}`, i)
	}
	contents := contentsOf(`{"items":[` + items.String()[1:] + `]}`)
	errKilled := errors.New("killed")
	succeeded := 0
	for begin := 1; succeeded < 3; begin++ { // until the second one begins too late
		succeeded = 0
		for kill := 1; kill <= 3; kill++ { // before its claim, after it, and after its keys
			prefix := fmt.Sprintf("/test/together-%d-%d/", begin, kill)
			first, second := connect(t, c, prefix), connect(t, c, prefix)
			did := 0
			second.etcd = &hooked{second.etcd, func() error {
				if did++; did > kill {
					return errKilled
				}
				return nil
			}}
			n := 0
			first.etcd = &hooked{first.etcd, func() error {
				if n++; n == begin {
					second.Import(t.Context(), contentsOf(`{"other":[]}`), nil)
				}
				return nil
			}}
			_, err := first.Import(t.Context(), contents, nil)
			if err != nil {
				if !strings.Contains(err.Error(), "another import into "+strings.TrimSuffix(prefix, "/")+" has started") {
					t.Errorf("%s: %v", prefix, err)
				}
				continue
			}
			if text(load(t, first).Contents) != text(contents) {
				t.Errorf("%s: the database is not the one that was imported", prefix)
			}
			if n < begin {
				succeeded++
			}
		}
	}
}
