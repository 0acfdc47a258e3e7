package pickup_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup"
	"pickup/filestore/storetest"
)

func TestMemStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, database string) pickup.Store {
		return pickup.NewMemStore(jsontext.Value(database))
	})
}
