package server

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// TestBudget checks that the memory of requests is limited by what they take up in
// memory rather than by their length on the wire: many small records, and the
// answers to small changes of large ones. A single request is always served.
func TestBudget(t *testing.T) {
	s := &server{Options: Options{MaxBody: 10 << 20, MaxDepth: 256}, budget: newBudget(10 << 20)}
	post := func(body string) *request {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequest("POST", "/posts", strings.NewReader(body))
		return &request{server: s, Context: c, name: "posts"}
	}
	many := "[" + strings.Repeat("{},", 299_999) + "{}]"
	first, second, small := post(many), post(many), post(`{"a":1}`)
	if _, err := first.readBody(); err != nil {
		t.Errorf("a request that is alone: %v", err)
	}
	if _, err := second.readBody(); err == nil {
		t.Error("two bodies of 300,000 records are taken at once")
	}
	thousands := 0 // bodies of 60 KB, which are not counted themselves
	for range 10 {
		req := post("[" + strings.Repeat("{},", 19_999) + "{}]")
		defer req.release()
		if _, err := req.readBody(); err == nil {
			thousands++
		}
	}
	if thousands > 0 {
		t.Errorf("%d bodies of 20,000 records are accepted in addition", thousands)
	}
	if _, err := small.readBody(); err != nil {
		t.Errorf("a small one in addition: %v", err)
	}
	first.release()
	second.release()

	record := jsontext.Value(`"` + strings.Repeat("x", 9<<20) + `"`)
	held := []*request{}
	for range 1000 {
		req := post("")
		for range 3 { // a transaction may run several times
			if req.reserveAnswer(len(record)) != nil {
				break
			}
		}
		if req.answerSize > 0 {
			held = append(held, req)
		}
	}
	if n := len(held); n != defaultBudget/len(record) {
		t.Errorf("%d answers of %d bytes are held", n, len(record))
	}
	for _, req := range held {
		req.release()
	}
	if used := s.budget.used.Load(); used != 0 {
		t.Errorf("%d bytes are never given back", used)
	}
}

// TestBudgetOfDefaults creates a record whose default is large while no memory is left.
func TestBudgetOfDefaults(t *testing.T) {
	rules, err := schema.Compile("s.json", []byte(`{"properties":{"posts":{"items":{"properties":{"text":{"default":"`+strings.Repeat("x", 100<<10)+`"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), storetest.NewMemStore([]byte(`{"posts": []}`)), database.Options{Schema: rules})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Options: Options{MaxBody: 1 << 20, MaxDepth: 256}, budget: newBudget(1 << 20)}
	s.budget.used.Store(s.budget.limit)
	for _, tt := range []struct {
		prefer string
		ok     bool
	}{{prefer: "missing=default"}, {prefer: "", ok: true}} {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequest("POST", "/posts", strings.NewReader(`{}`))
		c.Request.Header.Set("Prefer", tt.prefer)
		err := (&request{server: s, Context: c, db: db, snap: db.Snapshot(), name: "posts", sent: c.Request.URL}).create()
		if (err == nil) != tt.ok {
			t.Errorf("Prefer: %s: %v", tt.prefer, err)
		}
	}
	if n := len(slices.Collect(db.Snapshot().All("posts"))); n != 1 {
		t.Errorf("%d records were stored", n)
	}
}

// TestSlowQueries checks that a query runs without a build slot: slow ones would
// delay all other answers.
func TestSlowQueries(t *testing.T) {
	db, err := database.Open(t.Context(), storetest.NewMemStore([]byte(`{"posts": [{"id": 1}, {"id": 2}]}`)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest("GET", "/posts?_limit=2", nil)
	s := &server{Options: Options{MaxPage: 1}, budget: newBudget(10 << 20)} // no slot is free
	s.budget.builders = nil
	snap := db.Snapshot()
	q, err := snap.NewQuery("posts", []query.Parameter{{Name: "_limit", Value: "2"}})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		answered <- (&request{server: s, Context: c, db: db, snap: snap, name: "posts", sent: c.Request.URL}).sendList("posts", q, nil)
	}()
	select {
	case err := <-answered:
		if err == nil {
			t.Error("a page that is too large is sent")
		}
	case <-time.After(5 * time.Second):
		t.Error("the query waits for a build slot")
	}
}
