package storetest_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

func TestMemStore(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, database string) storage.Store {
		return storetest.NewMemStore(jsontext.Value(database))
	})
}
