package database_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/storage/storetest"
)

// This example opens a database in memory, writes to it, runs a query, and shows
// that a snapshot does not change.
func Example() {
	ctx := context.Background()
	store := storetest.NewMemStore(jsontext.Value(`{
		"drivers":   [{"id": "1", "driverName": "Ana"}],
		"schedules": [{"id": "1", "driverId": "1", "title": "Vet visit"}]
	}`))
	db, err := database.Open(ctx, store, database.Options{})
	if err != nil {
		log.Fatal(err)
	}
	before := db.Snapshot()
	after, err := db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Put(database.Create, "schedules", "", jsontext.Value(`{"driverId": "1", "title": "School run"}`))
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	parameters, err := query.Parameters("title:contains=school&_embed=driver&_fields=title,driver.driverName")
	if err != nil {
		log.Fatal(err)
	}
	q, err := after.NewQuery("schedules", parameters)
	if err != nil {
		log.Fatal(err)
	}
	result, err := after.Run(q)
	if err != nil {
		log.Fatal(err)
	}
	body, err := result.AppendJSON(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
	fmt.Println(before.Len("schedules"), after.Len("schedules"))
	// Output:
	// [{"title":"School run","driver":{"driverName":"Ana"}}]
	// 1 2
}

// A follower asks for all changes since its snapshot, from any writer.
func ExampleDB_Since() {
	ctx := context.Background()
	db, err := database.Open(ctx, storetest.NewMemStore(jsontext.Value(`{"drivers":[{"id":1}]}`)), database.Options{})
	if err != nil {
		log.Fatal(err)
	}
	seen := db.Snapshot().Rev()
	if _, err := db.Update(ctx, func(tx *database.Tx) error {
		if _, err := tx.Put(database.Create, "drivers", "", jsontext.Value(`{"driverName": "Ben"}`)); err != nil {
			return err
		}
		_, err := tx.Delete("drivers", "1")
		return err
	}); err != nil {
		log.Fatal(err)
	}
	revisions, _, _ := db.Since(seen)
	for _, r := range revisions {
		for _, c := range r.Changes {
			fmt.Println(r.Rev, r.Origin, c.Op, c.Collection, c.ID, string(c.Before)+string(c.After))
		}
	}
	// Output:
	// 2 api deleted drivers 1 {"id":1}
	// 2 api created drivers 2 {"id":2,"driverName":"Ben"}
}
