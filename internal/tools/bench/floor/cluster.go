//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// A cluster writes records to etcd in the steps of pickup: each group of changes is
// a transaction that compares the revision of the head, and writes the head, the key
// of the collection and a key for each record.
type cluster struct {
	client *clientv3.Client
	prefix string

	// Owned by the leader of the group.
	rev     int64 // of the head
	records int
}

// connect returns the cluster of a URL, etcd://HOST:PORT[,HOST:PORT…]/PREFIX. The
// prefix must be empty.
func connect(address string) (*cluster, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	host, _, _ := strings.Cut(u.Host, ",") // pickup uses one node at a time, too
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{host}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	return &cluster{client: client, prefix: u.Path + "/"}, err
}

// write makes a group of changes in one transaction, or in several if it is larger
// than etcd allows.
func (c *cluster) write(group []*change) error {
	for some := range slices.Chunk(group, 120) {
		head := fmt.Sprintf(`{"pickup":1,"database":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","prev":%d,"commit":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","keys":%d}`, c.rev, len(some)+1)
		then := []clientv3.Op{clientv3.OpPut(c.prefix+"head", head), clientv3.OpPut(c.prefix+"c/000000/schedules", "[]")}
		for _, change := range some {
			if change.record == nil {
				return errors.New("only POST is for a cluster")
			}
			c.records++
			then = append(then, clientv3.OpPut(fmt.Sprintf("%sr/schedules/%012d/%d", c.prefix, c.records, c.records), string(change.record)))
		}
		unmoved := clientv3.Compare(clientv3.ModRevision(c.prefix+"head"), "=", c.rev)
		r, err := c.client.Txn(context.Background()).If(unmoved).Then(then...).Commit()
		if err != nil {
			return err
		}
		if !r.Succeeded {
			return errors.New("another program has written the head")
		}
		c.rev = r.Header.Revision
	}
	return nil
}
