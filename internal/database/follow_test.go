package database_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// A following is the context of a goroutine that follows a store.
type following struct {
	context.Context
	cancel context.CancelFunc
}

// end waits until the goroutine has ended.
func (f following) end() { f.cancel(); synctest.Wait() }

// followed returns a store and a database that follows it.
func followed(t *testing.T, data string) (*storetest.MemStore, *database.DB, following) {
	s := storetest.NewMemStore(jsontext.Value(data))
	db := open(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	go db.Follow(ctx)
	synctest.Wait()
	return s, db, following{ctx, cancel}
}

// TestFollow makes external edits and reads the history.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db, ctx := followed(t, `{"a":[{"id":1},{"id":2}],"b":{"x":1}}`)
		before := db.Snapshot()
		for _, test := range []struct {
			edit string
			want string // op collection/id before > after
		}{
			{edit: `{"a":[{"id":1},{"id":2,"n":1}],"b":{"x":1}}`, want: `updated a/2 {"id":2} > {"id":2,"n":1}` + "\n"},
			{edit: `{"a":[{"id":1},{"id":3}],"b":{"x":2}}`, want: `deleted a/2 {"id":2,"n":1} > null` + "\n" +
				`created a/3 null > {"id":3}` + "\n" + `updated b/ {"x":1} > {"x":2}` + "\n"},
			{edit: `{"a":[{"id":3},{"id":1}],"b":{"x":2}}`},
			{edit: `{"a":[{"id":0},{"id":3},{"id":1}],"b":{"x":2}}`, want: `created a/0 null > {"id":0}` + "\n"},
			{edit: `{"b":{"x":2},"c":[]}`, want: "created c/ null > null\ndeleted a/ null > null\n"},
			{edit: `{"c":[],"b":{"x":2}}`},
			{edit: `{"c":{},"b":[7]}`, want: "updated c/ null > {}\n" + `updated b/ {"x":2} > null` + "\n"},
			{edit: `{ "c": {}, "b": [ 7 ] }`},
		} {
			rev := db.Snapshot().Rev()
			s.Edit(jsontext.Value(test.edit))
			synctest.Wait()
			revisions, ok, _ := db.Since(rev)
			if !ok || len(revisions) != 1 || revisions[0].After != db.Snapshot() || revisions[0].Origin != database.FromFile {
				t.Fatalf("%s: %+v", test.edit, revisions)
			}
			got := ""
			for _, ch := range revisions[0].Changes {
				got += fmt.Sprintf("%s %s/%s %s > %s\n", ch.Op, ch.Collection, ch.ID, ch.Before, ch.After)
			}
			if got != test.want {
				t.Errorf("%s: got\n%swant\n%s", test.edit, got, test.want)
			}
			if got := whole(db.Snapshot()); got != strings.ReplaceAll(test.edit, " ", "") {
				t.Errorf("the database is %s", got)
			}
		}
		if got := whole(before); got != `{"a":[{"id":1},{"id":2}],"b":{"x":1}}` {
			t.Errorf("an old snapshot has changed: %s", got)
		}
		ctx.end()
	})
}

// TestFollowBroken follows a file that becomes invalid and is repaired, with new
// and with the same contents.
func TestFollowBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db, ctx := followed(t, `{"a":[]}`)
		broken := &storage.BrokenError{File: "db.json", Line: 1, Column: 2, Reason: "x"}
		for _, repair := range []func(){
			func() { s.Edit(jsontext.Value(`{"a":[1]}`)) },
			func() { s.Break(nil) },
		} {
			before := db.Snapshot()
			_, _, more := db.Since(before.Rev())
			s.Break(broken)
			<-more
			if err := db.Err(); !errors.Is(err, storage.ErrBroken) {
				t.Errorf("Err is %v", err)
			}
			if db.Snapshot() != before {
				t.Error("the last good state is gone")
			}
			_, _, more = db.Since(before.Rev())
			repair()
			<-more
			synctest.Wait()
			if err := db.Err(); err != nil {
				t.Errorf("Err is %v after the repair", err)
			}
		}
		ctx.end()
	})
}

// TestFollowKeepsIDs makes external edits that delete the record with the greatest
// number, and then the collection. No number is assigned again.
func TestFollowKeepsIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db, ctx := followed(t, `{"a":[{"id":1},{"id":9}]}`)
		for _, edit := range []string{`{"a":[{"id":1}]}`, `{}`, `{"a":[{"id":1}]}`} {
			s.Edit(jsontext.Value(edit))
			synctest.Wait()
		}
		var r *database.Record
		if _, err := db.Update(ctx, func(tx *database.Tx) (err error) {
			r, err = tx.Put(database.Create, "a", "", jsontext.Value(`{}`))
			if err != nil || r.ID != "10" {
				t.Errorf("%v, %v, want the id 10", r, err)
			}
			return errors.New("enough seen")
		}); err == nil {
			t.Error("Update swallowed the error")
		}
		ctx.end()
	})
}
