package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// resolve finds out what became of a transaction whose outcome cause has left unknown, and
// returns what try would. It makes a commit without changes. If that succeeds, the
// transaction has not succeeded and cannot any more. Otherwise the chain of heads shows
// which one followed the base.
func (c *commit) resolve(ctx context.Context, cause error) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	empty := c.next(c.last, c.base)
	empty.Commit = "empty." + empty.Commit // the database does not wait for it as for a commit of its own
	then := []clientv3.Op{clientv3.OpPut(c.prefix+headKey, empty.encode())}
	for pause := repeatAfter; ; pause = min(2*pause, time.Second) {
		r, err := c.transact(ctx, readTime, c.isLatest(c.base, c.last), then)
		switch {
		case err == nil && r.Succeeded:
			c.stats.settled.Add(1)
			return 0, errConflict
		case err == nil:
			rev, err := c.trace(ctx, cause, found(r))
			if !errors.Is(err, storage.ErrUnsure) {
				c.stats.settled.Add(1)
			}
			return rev, err
		case isRefused(err):
			return 0, c.unsure(cause, err)
		}
		if wait(ctx, time.After(pause)); ctx.Err() != nil {
			return 0, c.unsure(cause, err)
		}
	}
}

// look returns what try would after full, an answer that etcd also gives to the first
// transaction beyond its quota, which it performs (quotaApplierV3 of its server).
func (c *commit) look(ctx context.Context, full error) (int64, error) {
	call, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	r, err := c.get(call, headKey)
	if err != nil {
		return 0, c.unsure(full, err)
	}
	rev, err := c.trace(ctx, full, r.Kvs)
	if errors.Is(err, errConflict) {
		err = full
	}
	return rev, err
}

func (c *commit) unsure(cause, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = cause
	return fmt.Errorf("%w: the outcome of a commit is unknown (%w), and asking for it failed: %w", storage.ErrUnsure, cause, err)
}

// trace follows the chain of heads back from the one that was found to the one that
// followed the base. It returns what try would after cause.
func (c *commit) trace(ctx context.Context, cause error, kvs []*mvccpb.KeyValue) (int64, error) {
	for {
		rev, h, err := c.headOf(kvs)
		switch {
		case err != nil:
			return 0, c.unsure(cause, err)
		case h.Database != c.head.Database:
			return 0, c.unsure(cause, errOther)
		case h.Commit == c.head.Commit:
			return rev, nil
		case h.Prev <= c.base:
			return 0, errConflict
		}
		call, cancel := context.WithTimeout(ctx, readTime)
		r, err := c.get(call, headKey, clientv3.WithRev(h.Prev))
		cancel()
		if err != nil {
			return 0, c.unsure(cause, err)
		}
		kvs = r.Kvs
	}
}
