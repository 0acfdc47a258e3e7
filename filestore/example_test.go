package filestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore"
	"pickup/internal/database"
)

// A write changes the bytes of what it changes.
func Example() {
	dir, err := os.MkdirTemp("", "pickup")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "db.json")
	const text = `{
  // who drives
  "drivers": [
    { "id": 1, "km": 1.10 }, // Ana
    { "id": 2, "km": 7 },
  ],
}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	store, err := filestore.Open(ctx, file, filestore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	db, err := database.Open(ctx, store, database.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.Update(ctx, func(tx *database.Tx) error {
		if _, err := tx.Put(database.Merge, "drivers", "2", jsontext.Value(`{"km": 8}`)); err != nil {
			return err
		}
		_, err := tx.Put(database.Create, "drivers", "", jsontext.Value(`{"km": 0}`))
		return err
	}); err != nil {
		log.Fatal(err)
	}
	now, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(now))
	// Output:
	// {
	//   // who drives
	//   "drivers": [
	//     { "id": 1, "km": 1.10 }, // Ana
	//     { "id": 2, "km": 8 },
	//     { "id": 3, "km": 0 },
	//   ],
	// }
}
