package etcdstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// An unguarded cluster performs transactions without their conditions.
type unguarded struct{ cluster }

func (u unguarded) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if op.IsTxn() {
		_, then, otherwise := op.Txn()
		op = clientv3.OpTxn(nil, then, otherwise)
	}
	return u.cluster.Do(ctx, op)
}

// A swap replaces a number by another one.
type swap struct{ old, new int }

var counter = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, _ any) (bool, any) {
		in := input.(swap)
		return state.(int) == in.old, in.new
	},
}

// TestGuard has two stores replace a number, each by what it has read and one more. The
// history is linearizable; without the condition on the head it is not.
func TestGuard(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		c := oneNode(t)
		a := open(t, c, `{"n":0}`)
		b := another(t, c, a)
		if !guarded {
			a.etcd, b.etcd = unguarded{a.etcd}, unguarded{b.etcd}
		}
		var mu sync.Mutex
		var history []porcupine.Operation
		began := time.Now()
		var writers sync.WaitGroup
		for id, s := range []*Store{a, b} {
			writers.Go(func() {
				for range 40 {
					batch, err := s.Load(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					n, _ := strconv.Atoi(string(batch.Contents[0].Value)) // it is a number
					call := time.Since(began)
					time.Sleep(time.Millisecond) // time for the other store to read the same number
					_, err = s.Commit(t.Context(), batch.Rev, []storage.Change{{Collection: "n", Value: jsontext.Value(strconv.Itoa(n + 1))}})
					end := time.Since(began)
					if errors.Is(err, storage.ErrConflict) {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: id, Input: swap{n, n + 1}, Call: int64(call), Return: int64(end)})
					mu.Unlock()
				}
			})
		}
		writers.Wait()
		if ok := porcupine.CheckOperations(counter, history); ok != guarded || len(history) < 20 {
			t.Errorf("guarded %v: %d operations, linearizable: %v", guarded, len(history), ok)
		}
	}
}
