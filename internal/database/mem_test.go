package database_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/storetest"
	"pickup/internal/database"
	"pickup/internal/store"
)

func TestMemStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, data string) store.Store {
		return database.NewMemStore(jsontext.Value(data))
	})
}
