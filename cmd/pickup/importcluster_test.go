package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// TestReplaceWhileOthersWrite replaces a database into which another server writes.
func TestReplaceWhileOthersWrite(t *testing.T) {
	for _, test := range []struct {
		name   string
		writes int
		want   string // of the error
	}{
		{name: "a server stops writing", writes: 5, want: "<nil>"},
		{name: "a server keeps writing", writes: 1000, want: "restart them with --read-only"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := storetest.NewCluster(jsontext.Value(`{"a":[{"id":"1"}]}`))
				store, writes := cluster.Replica(), 0
				store.SetFault(func(call string) error {
					if call != "CommitRules" || writes == test.writes {
						return nil
					}
					writes++
					time.Sleep(time.Second)
					return store.Edit(storage.Change{Collection: "a", ID: "1", Value: jsontext.Value(`{"id":"1","theirs":true}`)})
				})
				from := storage.Batch{Contents: []storage.Collection{storage.NewCollection("a", jsontext.Value(`[{"id":"2"}]`), "id")}}
				c := importCommand{Target: "etcd://a/b"}
				_, err := c.replaceAll(t.Context(), store, from, []byte{}, func(string) string { return "id" })
				if !strings.Contains(fmt.Sprint(err), test.want) {
					t.Errorf("replace: %v, want %s", err, test.want)
				}
				b, _ := store.Load(t.Context())
				if got := string(valueOf(b.Contents[0])); (got == `[{"id":"2"}]`) != (err == nil) {
					t.Errorf("after %v the cluster has %s", err, got)
				}
			})
		})
	}
}
