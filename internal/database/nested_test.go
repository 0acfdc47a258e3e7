package database

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// TestNestedChanged writes to values that have become another kind since a client asked for them:
// an element of an array that is no collection, an id, and a record.
func TestNestedChanged(t *testing.T) {
	for _, test := range []struct {
		data  string
		path  []string
		value string
	}{
		{`{"posts":[{"id":1,"videos":[5,{"id":2,"n":"second"}]}]}`, []string{"posts", "1", "videos", "1", "n"}, `"third"`},
		{`{"posts":[{"id":1,"videos":[{"id":2,"n":"second"}]}]}`, []string{"posts", "1", "videos", "2", "id"}, `9`},
		{`{"settings":[{"id":"l","n":1}]}`, []string{"settings", "l"}, `{"id":"l","n":2}`},
	} {
		tx := newTx(openFor(t, test.data, "").Snapshot())
		err := tx.Nested(test.path, false, func(inner *Tx) error {
			_, err := inner.Assign(joined(test.path), jsontext.Value(test.value))
			return err
		})
		if !errors.Is(err, storage.ErrShape) || tx.IsChanged() {
			t.Errorf("%s: a write to %s: %v", test.data, joined(test.path), err)
		}
	}
}
