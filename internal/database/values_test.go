package database_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
)

// TestValuesLimits: long values are left out, and so is what comes after very many
// different ones; those that are known are still counted.
func TestValuesLimits(t *testing.T) {
	var records strings.Builder
	for i := range 100_002 {
		fmt.Fprintf(&records, `{"id":%d,"n":%d},`, i, i)
	}
	fmt.Fprintf(&records, `{"id":-1,"n":0},{"id":-2,"n":100001},{"id":-3,"text":%q},{"id":-4,"text":"short"}`, strings.Repeat("x", 300))
	store := storetest.NewMemStore(jsontext.Value(`{"posts":[` + records.String() + `]}`))
	db, err := database.Open(t.Context(), store, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		member string
		count  int
		first  string
	}{
		{member: "n", count: 100_000, first: "0 2"},
		{member: "text", count: 1, first: `"short" 1`},
	} {
		values, err := db.Snapshot().Values("posts", test.member, "", 1_000_000)
		if err != nil || len(values) != test.count {
			t.Fatalf("%s: %d values, %v", test.member, len(values), err)
		}
		if fmt.Sprintf("%s %d", values[0].Value, values[0].Count) != test.first {
			t.Errorf("%s: the first is %s, %d times", test.member, values[0].Value, values[0].Count)
		}
	}
}
