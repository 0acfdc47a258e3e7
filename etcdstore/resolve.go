package etcdstore

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// resolve finds out whether a transaction succeeded after an error, cause, that leaves the
// outcome open. It returns the result of try.
//
// It tries to commit an empty head in place of the transaction's head. If this succeeds,
// the transaction did not succeed and never will. Otherwise the chain of heads shows which
// commit followed the base.
func (c *commit) resolve(ctx context.Context, cause error) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	empty := c.nextHead(c.base)
	empty.Commit = "empty." + empty.Commit // so that the batch is not marked as Own
	then := []clientv3.Op{c.putHead(empty.encode())}
	for {
		r, err := c.transact(ctx, readTime, c.isLatest(c.base), then)
		if err == nil && r.Succeeded {
			c.stats.resolved.Add(1)
			return 0, errConflict
		}
		if err == nil {
			rev, err := c.traceHeads(ctx, cause, elseRead(r))
			if !errors.Is(err, storage.ErrUnsure) {
				c.stats.resolved.Add(1)
			}
			return rev, err
		}
		if isRefused(err) {
			return 0, c.unsure(cause, err)
		}
		sleep(ctx, repeatAfter)
		if ctx.Err() != nil {
			return 0, c.unsure(cause, err)
		}
	}
}

// resolveFull finds out whether a transaction succeeded after full, the error of a cluster
// without space. It returns the result of try. Etcd also returns this error for the first
// transaction above its quota, and performs that transaction (quotaApplierV3 in its server).
func (c *commit) resolveFull(ctx context.Context, full error) (int64, error) {
	r, err := c.get(ctx, readTime, headKey)
	if err != nil {
		return 0, c.unsure(full, err)
	}
	rev, err := c.traceHeads(ctx, full, r.Kvs)
	if errors.Is(err, errConflict) {
		return 0, full
	}
	return rev, err
}

// traceHeads follows the chain of heads from the latest, in kvs, back to the head after the
// base. It returns the result of try, which failed with cause.
func (c *commit) traceHeads(ctx context.Context, cause error, kvs []*mvccpb.KeyValue) (int64, error) {
	for {
		h, err := c.parseHead(kvs)
		switch {
		case err != nil:
			return 0, c.unsure(cause, err)
		case h.Database != c.head.Database:
			return 0, c.unsure(cause, errOtherDatabase)
		case h.Commit == c.head.Commit:
			return h.rev, nil
		case h.Prev <= c.base.rev:
			return 0, errConflict
		}
		r, err := c.get(ctx, readTime, headKey, clientv3.WithRev(h.Prev))
		if err != nil {
			return 0, c.unsure(cause, err)
		}
		kvs = r.Kvs
	}
}

// unsure returns the error of a commit whose outcome is unknown: it failed with cause, and
// finding out the outcome failed with err.
func (c *commit) unsure(cause, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastError = cause
	return fmt.Errorf("%w: the outcome of a commit is unknown (%w), and reading it failed: %w",
		storage.ErrUnsure, cause, err)
}
