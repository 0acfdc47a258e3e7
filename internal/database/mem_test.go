package database_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

func TestMemStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, data string) storage.Store {
		return database.NewMemStore(jsontext.Value(data))
	})
}
