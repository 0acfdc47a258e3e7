package database_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// A registerOp is one operation on one record.
type registerOp struct {
	op       string // create, merge, swap, delete or read
	key      string
	old, new string // values; old is of swap
}

// A registerResult is what came of it.
type registerResult struct {
	refused bool   // the record is there, not there, or has another value than old
	value   string // of a read; "": there is no record
	unknown bool   // it is or will be done; nothing was answered
}

// registers is the model of a database: a register for each record.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := make(map[string][]porcupine.Operation)
		for _, op := range history {
			key := op.Input.(registerOp).key
			byKey[key] = append(byKey[key], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		value, in, out := state.(string), input.(registerOp), output.(registerResult)
		if in.op == "read" {
			return out.value == value, value
		}
		refused := (value != "") == (in.op == "create") || in.op == "swap" && value != in.old
		switch {
		case !out.unknown && refused != out.refused:
			return false, value
		case refused:
			return true, value
		}
		return true, in.new // "" of delete
	},
}

var errOther = errors.New("the record has another value")

// do runs an operation on a replica. ok is false if nothing was done.
func (r replica) do(ctx context.Context, in registerOp) (out registerResult, ok bool) {
	if in.op == "read" {
		snap, err := r.Fresh(ctx)
		if err != nil {
			return out, false
		}
		return registerResult{value: valueOf(snap, in.key)}, true
	}
	body := jsontext.Value(fmt.Sprintf(`{"id":%q,"v":%q}`, in.key, in.new))
	_, err := r.Update(ctx, func(tx *database.Tx) (err error) {
		switch in.op {
		case "create":
			_, err = tx.Put(database.Create, "a", "", body)
		case "merge":
			_, err = tx.Put(database.Merge, "a", in.key, body)
		case "swap":
			if valueOf(tx.Snapshot(), in.key) != in.old {
				return errOther
			}
			_, err = tx.Put(database.Merge, "a", in.key, body)
		case "delete":
			_, err = tx.Delete("a", in.key)
		}
		return err
	})
	switch {
	case errors.Is(err, storage.ErrUnsure):
		return registerResult{unknown: true}, true
	case errors.Is(err, storage.ErrAway), errors.Is(err, storage.ErrBusy):
		return out, false
	case errors.Is(err, errOther), errors.Is(err, storage.ErrNotFound), errors.Is(err, database.ErrExists):
		out.refused = true
	case err != nil:
		panic(err)
	}
	return out, true
}

func valueOf(s *database.Snapshot, key string) string {
	r, err := s.Get("a", key)
	if err != nil {
		return ""
	}
	v, _ := rawjson.Member(r.Value, "v")
	return rawjson.Unquote(v)
}

// randomOp returns an operation; n makes its value unlike all others.
func randomOp(r *rand.Rand, n int, last map[string]string) registerOp {
	in := registerOp{key: fmt.Sprint(r.IntN(5)), new: fmt.Sprint("v", n)}
	switch x := r.IntN(10); {
	case x < 2:
		in.op = "create"
	case x < 4:
		in.op = "merge"
	case x < 6:
		in.op, in.old = "swap", last[in.key]
	case x < 7:
		in.op, in.new = "delete", ""
	default:
		in.op, in.new = "read", ""
	}
	if in.op == "swap" && in.old == "" {
		in.op = "merge"
	}
	return in
}

// run has clients of several replicas work at once, and returns what they saw.
func run(t *testing.T, all []replica, clients, each int, seed uint64, reads bool) (history []porcupine.Operation) {
	var mu sync.Mutex
	var running sync.WaitGroup
	start := time.Now()
	for c := range clients {
		running.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(c)))
			db, last := all[c%len(all)], make(map[string]string)
			for i := range each {
				in := randomOp(rnd, c*each+i, last)
				if in.op == "read" && !reads {
					continue
				}
				op := porcupine.Operation{ClientId: c, Input: in, Call: int64(time.Since(start))}
				out, ok := db.do(t.Context(), in)
				if !ok {
					time.Sleep(time.Millisecond) // before the next try
					continue
				}
				op.Output, op.Return = out, int64(time.Since(start))
				if out.unknown {
					op.Return = math.MaxInt64
				}
				if in.op == "read" {
					last[in.key] = out.value
				} else if !out.refused {
					last[in.key] = in.new
				}
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return history
}

// withEnd returns a history that ends with reads of the state in the store.
func withEnd(history []porcupine.Operation, s *database.Snapshot) []porcupine.Operation {
	for key := range 5 {
		in := registerOp{op: "read", key: fmt.Sprint(key)}
		at := int64(math.MaxInt64 - 1)
		history = append(history, porcupine.Operation{ClientId: -1, Input: in, Call: at, Output: registerResult{value: valueOf(s, in.key)}, Return: at})
	}
	return history
}

// TestLinearizable has clients of three replicas write and read while answers get
// lost, replicas lag, and are cut off. Their history is linearizable.
func TestLinearizable(t *testing.T) {
	rounds, each := 3, 150
	if os.Getenv("PICKUP_LONG") != "" {
		rounds, each = 60, 600
	}
	for range rounds {
		seed := rand.Uint64()
		all := replicas(t, 3, `{"a":[]}`)
		stop := make(chan struct{})
		var faults sync.WaitGroup
		for i, r := range all {
			rnd := rand.New(rand.NewPCG(seed, uint64(100+i)))
			var mu sync.Mutex
			r.store.SetFault(func(call string) error {
				mu.Lock()
				x := rnd.IntN(100)
				mu.Unlock()
				switch {
				case x < 20:
					time.Sleep(time.Duration(x) * 50 * time.Microsecond) // a slow call
				case x < 24:
					return storage.ErrAway
				}
				return nil
			})
			faults.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, uint64(200+i)))
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Duration(rnd.IntN(20)) * time.Millisecond):
					}
					switch rnd.IntN(3) {
					case 0:
						r.store.Hold(true)
					case 1:
						r.store.Hold(false)
					case 2:
						r.store.Cut(true)
						time.Sleep(time.Duration(rnd.IntN(5)) * time.Millisecond) // the length of the failure
						r.store.Cut(false)
					}
				}
			})
		}
		history := run(t, all, 9, each, seed, true)
		close(stop)
		faults.Wait()
		end := make([]*database.Snapshot, len(all))
		for i, r := range all {
			r.store.SetFault(nil)
			r.store.Cut(false)
			r.store.Hold(false)
			var err error
			if end[i], err = r.Fresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		history = withEnd(history, end[0])
		if result := porcupine.CheckOperationsTimeout(registers, history, time.Minute); result != porcupine.Ok {
			t.Errorf("seed %d: the history of %d operations is %s", seed, len(history), result)
		}
		for i, s := range end {
			if x, y := whole(s), whole(end[0]); x != y {
				t.Errorf("seed %d: replica %d has %s, the first one %s", seed, i, x, y)
			}
		}
	}
}

// A trusting is a store that takes the state of its database for the latest.
type trusting struct {
	*storetest.Replica
	db *database.DB
}

func (s *trusting) Latest(context.Context) (storage.Rev, error) { return s.db.Snapshot().Rev(), nil }

// TestUnconfirmedRefusals is a control: without the confirmation of refusals the
// history is not linearizable.
func TestUnconfirmedRefusals(t *testing.T) {
	cluster := storetest.NewCluster(jsontext.Value(`{"a":[]}`))
	for range 20 {
		all := []replica{newReplica(t, cluster)}
		stores := []*trusting{{Replica: cluster.Replica()}, {Replica: cluster.Replica()}}
		for _, s := range stores {
			db := open(t, s)
			s.db = db
			all = append(all, replica{db, s.Replica}) // it does not follow, and so lags
		}
		history := withEnd(run(t, all, 6, 100, rand.Uint64(), false), newReplica(t, cluster).Snapshot())
		if porcupine.CheckOperationsTimeout(registers, history, time.Minute) == porcupine.Illegal {
			return
		}
	}
	t.Error("porcupine takes histories for linearizable whose refusals are not confirmed")
}
