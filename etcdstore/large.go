package etcdstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"pickup/internal/storage"
)

// divide writes the parts of values that are too large for one key, and replaces these
// values by pointers. The values of members have to fit one transaction together.
func (c *commit) divide(ctx context.Context) error {
	limit := maxValue
	for limit > 1<<10 && c.membersAbove(limit) > maxBytes {
		limit /= 2
	}
	for i := range c.ops {
		o := &c.ops[i]
		if len(o.value) <= limit || o.key == rulesKey || len(o.value) <= maxValue && !strings.HasPrefix(o.key, memberKeys) {
			continue
		}
		name := fmt.Sprintf("%s.%d", c.head.Commit, i)
		parts := chunks(o.value, maxValue)
		if err := c.lay(ctx, partKeys, name, parts); err != nil {
			return err
		}
		o.value = pointerTo(name, len(parts))
		if c.parts == nil {
			c.parts = make(map[string]string)
		}
		c.parts[o.key] = name
	}
	return nil
}

// membersAbove returns about what the operations of members add to a transaction if the
// values that are larger than limit are in parts.
func (c *commit) membersAbove(limit int) (size int) {
	for _, o := range c.ops {
		if strings.HasPrefix(o.key, memberKeys) {
			if size += o.size() + len(c.prefix); len(o.value) > limit {
				size -= len(o.value)
			}
		}
	}
	return size
}

func chunks(value []byte, size int) (parts [][]byte) {
	for len(value) > size {
		parts = append(parts, value[:size])
		value = value[size:]
	}
	return append(parts, value)
}

// lay writes parts that do not count yet. If a sweep deletes them, it moves the head.
func (c *commit) lay(ctx context.Context, keys, name string, parts [][]byte) error {
	c.laid = append(c.laid, deleteParts(keys, name))
	for i, part := range parts {
		if err := c.store(ctx, put(partKey(keys, name, i), part)); err != nil {
			return err
		}
	}
	return nil
}

// store puts a key that nobody else writes. It may be sent several times.
func (s *Store) store(ctx context.Context, o op) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for {
		_, err := s.transact(ctx, writeTime, nil, s.plain([]op{o}), headKey)
		if err == nil || isRefused(err) || ctx.Err() != nil {
			return err
		}
		time.Sleep(repeatAfter)
	}
}

// A stagedOp is a line of a staged batch. A value that is JSON is the last member.
type stagedOp struct {
	Put     string          `json:"put,omitempty"`
	Pointer string          `json:"pointer,omitempty"`
	Delete  string          `json:"delete,omitempty"`
	End     string          `json:"end,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
}

// splitOps returns operations as parts of a staged batch.
func splitOps(ops []op) (parts [][]byte) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // values keep their spelling
	for _, o := range ops {
		var line stagedOp
		switch {
		case o.value == nil:
			line.Delete, line.End = o.key, o.end
		case o.value[0] == '@':
			line.Put, line.Pointer = o.key, string(o.value)
		default:
			line.Put, line.Value = o.key, o.value
		}
		before := b.Len()
		enc.Encode(line) // cannot fail: the value is valid
		if before > 0 && b.Len() > maxBytes {
			rest := bytes.Clone(b.Bytes()[before:])
			parts = append(parts, bytes.Clone(b.Bytes()[:before]))
			b.Reset()
			b.Write(rest)
		}
	}
	return append(parts, b.Bytes())
}

// joinOps returns the operations of a staged batch.
func joinOps(open *batch, prefix string, kvs []*mvccpb.KeyValue) (ops []op, err error) {
	for _, kv := range kvs {
		for text := range bytes.Lines(kv.Value) {
			var line stagedOp
			if err := json.Unmarshal(text, &line); err != nil {
				return nil, &brokenError{string(kv.Key), "is not a part of a batch"}
			}
			switch {
			case line.Delete != "":
				ops = append(ops, op{key: line.Delete, end: line.End})
			case line.Pointer != "":
				ops = append(ops, put(line.Put, []byte(line.Pointer)))
			default:
				ops = append(ops, put(line.Put, line.Value))
			}
		}
	}
	if len(kvs) != open.Parts {
		return nil, &brokenError{prefix + partsOf(stagedKeys, open.Name), fmt.Sprintf("has %d parts of %d", len(kvs), open.Parts)}
	}
	return ops, nil
}

// stage commits a large batch as the package comment describes. Once the batch counts,
// an error does not matter: the next commit goes on from there.
func (c *commit) stage(ctx context.Context) (int64, error) {
	c.stats.staged.Add(1)
	var flip, rest []op // see I5
	for _, o := range c.ops {
		if strings.HasPrefix(o.key, memberKeys) || o.key == rulesKey {
			flip = append(flip, o)
		} else {
			rest = append(rest, o)
		}
	}
	if fit(flip, len(c.prefix)) < len(flip) {
		return 0, fmt.Errorf("%w: the top-level members that change have more than %d KiB together", storage.ErrTooLarge, maxBytes>>10)
	}
	parts := splitOps(rest)
	if err := c.lay(ctx, stagedKeys, c.head.Commit, parts); err != nil {
		return 0, err
	}
	c.head.Open = &batch{c.head.Commit, len(parts)}
	rev, err := c.try(ctx, flip)
	if err != nil {
		return 0, err
	}
	c.last, c.lastRev = c.head, rev
	if c.leaveOpen != nil && c.leaveOpen() {
		return rev, nil
	}
	closed, h, err := c.fold(ctx, rev, c.head, rest)
	if err != nil {
		c.log.Warn("cannot finish a large batch, which the next commit will do", "error", err)
		return rev, nil
	}
	c.last, c.lastRev = h, closed
	return rev, nil
}

// withdraw deletes the parts of a commit that will never count. If that fails they stay
// until a sweep.
func (c *commit) withdraw(ctx context.Context) {
	if len(c.laid) > 0 {
		c.transact(ctx, readTime, nil, c.plain(c.laid), headKey)
	}
}

// fold puts the open batch of h, which was written at rev, into the records, and
// closes it. It returns the closing head and its revision. The error is errMoved if
// another replica did so.
func (s *Store) fold(ctx context.Context, rev int64, h head, ops []op) (int64, head, error) {
	for len(ops) > 0 {
		n := fit(ops, len(s.prefix))
		r, err := s.transact(ctx, writeTime, s.unmoved(rev, h), s.nested(ops[:n]), headKey)
		switch {
		case err != nil:
			return 0, h, err
		case !r.Succeeded:
			return 0, h, errMoved
		}
		ops = ops[n:]
	}
	c := &commit{Store: s, base: rev, last: h, head: s.next(h, rev)}
	closed, err := c.try(ctx, []op{deleteParts(stagedKeys, h.Open.Name)})
	return closed, c.head, err
}

// finish folds and closes a batch that a commit left open. A replica that still works
// on it gets time to do so.
func (s *Store) finish(ctx context.Context, rev int64, h head) error {
	for end := time.Now().Add(s.grace); !strings.HasPrefix(h.Commit, s.me) && time.Now().Before(end); time.Sleep(repeatAfter) {
		call, cancel := context.WithTimeout(ctx, readTime)
		now, _, _, err := s.latest(call)
		cancel()
		if err != nil {
			return err
		}
		if now != rev {
			return errMoved
		}
	}
	ops, err := s.scanAt(rev).staged(ctx, h.Open)
	if err != nil {
		return err
	}
	_, _, err = s.fold(ctx, rev, h, ops)
	return err
}
