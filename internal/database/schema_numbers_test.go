package database_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// TestNumbersAreExact judges numbers that floating point would confuse.
func TestNumbersAreExact(t *testing.T) {
	schema, err := schema.Compile("s.json", []byte(`{"properties": {"c": {"type": "array", "items": {"properties": {
		"serial": {"x-unique": true},
		"price": {"multipleOf": 0.01, "minimum": -12345678901234567890.12, "exclusiveMaximum": 12345678901234567890.12},
		"choice": {"enum": [9007199254740993, 1e2]},
		"whole": {"type": "integer"}
	}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"c":[{"id":1,"serial":9007199254740993}]}`)), database.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		body string
		want error
	}{
		{`{"serial":9007199254740992}`, nil},
		{`{"serial":9007199254740993.0}`, database.ErrExists},
		{`{"serial":9007199254740993e0}`, database.ErrExists},
		{`{"serial":900719925474099.3e1}`, database.ErrExists},
		{`{"serial":"9007199254740993"}`, nil}, // a string is not a number
		{`{"serial":12345678901234567890123456789012345678901234567890}`, nil},
		{`{"serial":12345678901234567890123456789012345678901234567891}`, nil},
		{`{"serial":1234567890123456789012345678901234567890123456789.1e1}`, database.ErrExists},
		{`{"price":12345678901234567890.11}`, nil},
		{`{"price":12345678901234567890.111}`, storage.ErrInvalid},
		{`{"price":12345678901234567890.12}`, storage.ErrInvalid},
		{`{"price":-12345678901234567890.12}`, nil},
		{`{"price":-12345678901234567890.13}`, storage.ErrInvalid},
		{`{"price":0.1}`, nil},
		{`{"price":0.29}`, nil}, // 29 hundredths, which no double is
		{`{"choice":9007199254740993.0}`, nil},
		{`{"choice":9007199254740992}`, storage.ErrInvalid},
		{`{"choice":100}`, nil},
		{`{"whole":1.0}`, nil},
		{`{"whole":100000000000000000000000000000.0}`, nil},
		{`{"whole":100000000000000000000000000000.1}`, storage.ErrInvalid},
	}
	for _, tt := range tests {
		_, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Put(database.Create, "c", "", jsontext.Value(tt.body))
			return err
		})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.body, err, tt.want)
		}
	}
}
