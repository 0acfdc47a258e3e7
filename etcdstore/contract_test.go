package etcdstore

import (
	"testing"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

func TestStore(t *testing.T) {
	each(t, func(t *testing.T, c *etcdtest.Cluster) {
		storetest.Run(t, func(t *testing.T, database string) storage.Store { return open(t, c, database) })
		storetest.RunShared(t, func(t *testing.T, database string) (a, b storage.SharedStore) {
			s := open(t, c, database)
			return s, another(t, c, s)
		})
	})
}
