package database_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// openRules opens a database with the rules of a schema.
func openRules(t *testing.T, rules, data string) *database.DB {
	t.Helper()
	compiled, err := schema.Compile("db.schema.json", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(data)), database.Options{Schema: compiled})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// listed returns the body of the answer to a query, or its error.
func listed(s *database.Snapshot, collection, query string) string {
	r, err := ask(s, collection, query)
	if err != nil {
		return err.Error()
	}
	body, err := r.AppendJSON(nil)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

const relations = `{
"authors":[{"id":1,"name":"Ann"},{"id":"2","name":"Bob"}],
"posts":[{"id":"1","authorId":1,"comments":7},{"id":"2","authorId":"2"},{"id":"3","authorId":"9"},
	{"id":"4","authorId":null},{"id":"5"},{"id":"6","authorId":[1]},"text"],
"comments":[{"id":"a","postId":1},{"id":"b","postId":"1"},{"id":"c","postId":1.0},{"id":"d","postId":"2"},{"id":"e"}],
"people":[{"id":"p","personId":"q"},{"id":"q"}],
"news":[{"id":1,"newsId":2},{"id":2}],
"profile":{"authorId":1}
}`

// TestEmbed embeds children and parents.
func TestEmbed(t *testing.T) {
	s := openMem(t, relations).Snapshot()
	for _, test := range []struct{ collection, query, want string }{
		{collection: "posts", query: "id=2&_embed=author", want: `[{"id":"2","authorId":"2","author":{"id":"2","name":"Bob"}}]`},
		{collection: "posts", query: "id=1&_expand=author&_fields=author.name", want: `[{"author":{"name":"Ann"}}]`},
		{
			collection: "posts", query: "id=3&id=4&id=5&id=6&_expand=author",
			want: `[{"id":"3","authorId":"9"},{"id":"4","authorId":null},{"id":"5"},{"id":"6","authorId":[1]}]`,
		},
		// Ids are compared as text, so 1.0 is not 1. An embedded value
		// replaces a stored member of the same name.
		{
			collection: "posts", query: "id=1&_embed=comments",
			want: `[{"id":"1","authorId":1,"comments":[{"id":"a","postId":1},{"id":"b","postId":"1"}]}]`,
		},
		{collection: "posts", query: "id=3&_embed=comments", want: `[{"id":"3","authorId":"9","comments":[]}]`},
		{collection: "posts", query: "_embed=comments&_start=6", want: `["text"]`},
		{
			collection: "comments", query: "id=b&_embed=post.author",
			want: `[{"id":"b","postId":"1","post":{"id":"1","authorId":1,"comments":7,"author":{"id":1,"name":"Ann"}}}]`,
		},
		{
			collection: "authors", query: "id=2&_embed=posts.comments,posts.author",
			want: `[{"id":"2","name":"Bob","posts":[{"id":"2","authorId":"2","comments":[{"id":"d","postId":"2"}],"author":{"id":"2","name":"Bob"}}]}]`,
		},
		{
			collection: "authors", query: "id=2&_embed=posts&_embed=nothing&_expand=profile&_embed=",
			want: `[{"id":"2","name":"Bob","posts":[{"id":"2","authorId":"2"}]}]`,
		},
		{collection: "people", query: "_embed=person", want: `[{"id":"p","personId":"q","person":{"id":"q"}},{"id":"q"}]`},
		{collection: "news", query: "id=1&_embed=news", want: `[{"id":1,"newsId":2,"news":[]}]`},
		{collection: "news", query: "id=1&_expand=news", want: `[{"id":1,"newsId":2,"news":{"id":2}}]`},
		// Filters and sorting see what is embedded; comments has it twice.
		{collection: "posts", query: "_embed=author&author.name=Bob&_fields=id", want: `[{"id":"2"}]`},
		{
			collection: "posts", query: "_embed=author&_sort=-author.name&author.name:exists=true&_fields=id",
			want: `[{"id":"2"},{"id":"1"}]`,
		},
		{collection: "posts", query: "_embed=comments&comments[1].id=b&_fields=id", want: `[{"id":"1"}]`},
		{
			collection: "posts", query: `_embed=author&_where={"not":{"author.name":{"exists":true}}}&_fields=id&id:exists=true`,
			want: `[{"id":"3"},{"id":"4"},{"id":"5"},{"id":"6"}]`,
		},
		{collection: "posts", query: "author.name=Bob", want: `[]`},
	} {
		if got := listed(s, test.collection, test.query); got != test.want {
			t.Errorf("%s?%s\n got %s\nwant %s", test.collection, test.query, got, test.want)
		}
	}
	q, _ := s.ParseQuery("posts", "_embed=author&q=x&_fields=author")
	r, _ := s.Get("posts", "1")
	if b, err := s.AppendRecord([]byte("x"), q, r.Value); err != nil || string(b) != `x{"author":{"id":1,"name":"Ann"}}` || len(q.Embeds) == 0 {
		t.Errorf("one record: %s, %v", b, err)
	}
	profile, _ := s.Value("profile")
	q, _ = s.ParseQuery("profile", "_expand=author&_fields=author.id")
	if b, err := s.AppendRecord(nil, q, profile); err != nil || string(b) != `{"author":{"id":1}}` {
		t.Errorf("a singular resource: %s, %v", b, err)
	}
	if _, err := s.Run(q); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a list of a singular resource: %v", err)
	}
}

// TestEmbedFollowsWrites embeds children while they are created and deleted, so
// that the index changes with them.
func TestEmbedFollowsWrites(t *testing.T) {
	db := openMem(t, relations)
	ask := func() string { return listed(db.Snapshot(), "posts", "id=2&_embed=comments&_fields=comments.id") }
	if got := ask(); got != `[{"comments":[{"id":"d"}]}]` {
		t.Error(got)
	}
	if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
		if _, err := tx.Delete("comments", "d"); err != nil {
			return err
		}
		if _, err := tx.Put(database.Merge, "comments", "e", jsontext.Value(`{"postId":2}`)); err != nil {
			return err
		}
		_, err := tx.Put(database.Create, "comments", "", jsontext.Value(`{"id":"f","postId":"2"}`))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != `[{"comments":[{"id":"e"},{"id":"f"}]}]` {
		t.Error(got)
	}
}

// TestUnder lists the records of a parent.
func TestUnder(t *testing.T) {
	s := openMem(t, relations).Snapshot()
	for _, test := range []struct{ child, parent, id, query, want string }{
		{child: "comments", parent: "posts", id: "1", want: "a b"},
		{child: "comments", parent: "posts", id: "1.0", want: "c"},
		{child: "comments", parent: "posts", id: "1", query: "_sort=-id&_limit=1", want: "b"},
		{child: "comments", parent: "posts", id: "1", query: "id=b&id=d", want: "b"},
		{child: "comments", parent: "posts", id: "9"},
		{child: "posts", parent: "authors", id: "1", want: "1"},
		{child: "news", parent: "posts", id: "1"},
	} {
		q, err := s.ParseQuery(test.child, test.query)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(s.Under(q, test.parent, test.id))
		if err != nil || ids(r.Records) != test.want {
			t.Errorf("%v: %s, %v", test, ids(r.Records), err)
		}
		if all, err := s.Run(q); err != nil || test.query == "" && all.Total != s.Len(test.child) {
			t.Errorf("%v: the query itself has changed", test)
		}
	}
}

func ids(records []*database.Record) string {
	var list []string
	for _, r := range records {
		if storage.IsPositionKey(r.ID) {
			list = append(list, "#")
		} else {
			list = append(list, r.ID)
		}
	}
	return strings.Join(list, " ")
}

const family = `{
"drivers":[{"id":"1","driverName":"Ann"},{"id":"2","driverName":"Bob"}],
"schedules":[{"id":"1","driverID":2,"substitute":"1","title":"A"},{"id":"2","driverId":"1","title":"B"},{"id":"3","driverId":"2","title":"C"}],
"tasks":[{"id":"1","ownerId":"2","helper":"1"}]}`

// TestQueryRules runs queries with the rules of a schema: aliases of members, and
// references with other names than their collections.
func TestQueryRules(t *testing.T) {
	data, err := os.ReadFile("../../db.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s := openRules(t, string(data), family).Snapshot()
	for query, want := range map[string]string{
		"driverID=2":                     "1 3",
		"driverId=2":                     "1 3",
		"driverID:in=2,9":                "1 3",
		"driverID_ne=1":                  "1 3",
		`_where={"driverID":{"eq":"2"}}`: "1 3",
		"_fields=driverID&driverID:gt=1": "1 3",
		"_sort=-driverID&_limit=2":       "1 3", // 2 and "2"
	} {
		if r, err := ask(s, "schedules", query); err != nil || ids(r.Records) != want {
			t.Errorf("%s: %s, %v", query, ids(r.Records), err)
		}
	}
	if got := listed(s, "schedules", "id=1&_fields=driverID"); got != `[{"driverId":2}]` {
		t.Error(got)
	}
	for rawQuery, fine := range map[string]bool{
		"driverID=1":                      true,
		"pickupTime=x":                    true,
		"title=A&_sort=id":                true,
		"substitute=1":                    true,
		"_embed=driver":                   true,
		"status:exists=false":             true,
		"titel=A":                         false,
		"_sort=-tite":                     false,
		"_fields=title,nope":              false,
		"title.x=1":                       false,
		"_embed=nope":                     false,
		"_embed=driver.nope":              false,
		"_embed=driver.schedules":         true,
		`_where={"or":[{"titl":"A"}]}`:    false,
		`_where={"title":{"x":{"eq":1}}}`: false,
	} {
		q, err := s.ParseQuery("schedules", rawQuery)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Strict(q)
		var qe *query.Error
		if fine != (err == nil) || !fine && !errors.As(err, &qe) {
			t.Errorf("%s: %v", rawQuery, err)
		}
		if rawQuery == "titel=A" && (err == nil || !strings.Contains(err.Error(), "titel: no record of schedules has titel; did you mean title?")) {
			t.Errorf("%s: %v", rawQuery, err)
		}
	}

	s = openRules(t, `{"properties":{
		"tasks":{"items":{"properties":{"ownerId":{"x-ref":"drivers"},"helper":{"x-ref":"drivers"}}}},
		"schedules":{"items":{"properties":{"driverId":{"x-ref":"drivers"},"substitute":{"x-ref":"drivers"}}}}}}`, family).Snapshot()
	for _, test := range []struct{ child, parent, want string }{
		{child: "schedules", parent: "drivers", want: "driverId"},
		{child: "tasks", parent: "drivers", want: "helper"},
		{child: "tasks", parent: "schedules", want: "scheduleId"},
		{child: "drivers", parent: "tasks", want: "taskId"},
	} {
		if got := s.ForeignKey(test.child, test.parent); got != test.want {
			t.Errorf("%s of %s refer by %s, want %s", test.child, test.parent, got, test.want)
		}
	}
	if got := listed(s, "tasks", "_expand=owner&_fields=owner.driverName"); got != `[{"owner":{"driverName":"Bob"}}]` {
		t.Error(got)
	}
}

// TestWhere adds the condition of a body to a query, which does not change.
func TestWhere(t *testing.T) {
	s := openMem(t, relations).Snapshot()
	q, err := s.ParseQuery("comments", "_embed=post&_sort=-id&_limit=2&_fields=id")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ where, want string }{
		{`{"postId":1}`, `[{"id":"c"},{"id":"b"}]`},
		{` {"post": {"authorId": {"eq": "2"}}} `, `[{"id":"d"}]`},
		{`null`, `[{"id":"e"},{"id":"d"}]`},
	} {
		narrow, err := s.Where(q, jsontext.Value(test.where))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(narrow)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := r.AppendJSON(nil); err != nil || string(b) != test.want {
			t.Errorf("%s: %s, %v", test.where, b, err)
		}
		if r, err := s.Run(q); err != nil || r.Total != 5 {
			t.Errorf("%s has changed the query: %v, %v", test.where, r, err)
		}
	}
	all, err := s.ParseQuery("comments", "")
	if err != nil {
		t.Fatal(err)
	}
	alone, err := s.Where(all, jsontext.Value(`{"or":[{"id":"a"},{"postId":{"exists":false}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Run(alone); err != nil || ids(r.Records) != "a e" {
		t.Errorf("%v, %v", r, err)
	}
	var qe *query.Error
	if _, err := s.Where(all, jsontext.Value(`{"or":[{"id":{"is":1}}]}`)); !errors.As(err, &qe) || qe.Pointer != "/or/0/id/is" {
		t.Errorf("%v", err)
	}
	if _, err := s.Where(q, jsontext.Value(`[]`)); !errors.As(err, &qe) {
		t.Errorf("%v", err)
	}
	// A record of a change is matched without a snapshot.
	if r, _ := s.Get("comments", "e"); !alone.Match(r.Value) {
		t.Error("e does not match")
	}
	if r, _ := s.Get("comments", "b"); alone.Match(r.Value) {
		t.Error("b matches")
	}
}
