package storetest_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

func TestCluster(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, database string) storage.Store {
		return storetest.NewCluster(jsontext.Value(database)).Replica()
	})
	storetest.RunShared(t, func(_ *testing.T, database string) (a, b storage.SharedStore) {
		c := storetest.NewCluster(jsontext.Value(database))
		return c.Replica(), c.Replica()
	})
}
