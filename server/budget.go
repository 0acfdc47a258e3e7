package server

import (
	"errors"
	"io"
	"runtime"
	"sync/atomic"
)

// A budget bounds the memory of bodies and answers that wait for slow clients.
// What is small costs nothing, so that it is served whatever large ones do.
type budget struct {
	most     int64        // bytes
	used     atomic.Int64 // of these
	builders chan struct{}
}

const (
	freeOfBudget  = 64 << 10  // bytes of a request
	defaultBudget = 256 << 20 // or four bodies, where they may be larger
)

func newBudget(maxBody int64) budget {
	return budget{most: max(defaultBudget, 4*maxBody), builders: make(chan struct{}, 4*runtime.GOMAXPROCS(0))}
}

// errNoMemory says that the budget is used up.
var errNoMemory = errors.New("the budget is used up")

// take takes n bytes of the budget until the request ends. It reports false
// where there are none left.
func (k *call) take(n int64) bool {
	if n <= freeOfBudget {
		return true
	}
	if k.budget.used.Add(n) > k.budget.most {
		k.budget.used.Add(-n)
		return false
	}
	k.taken += n
	return true
}

// release gives back what the call has taken.
func (k *call) release() { k.budget.used.Add(-k.taken) }

// budgeted returns a reader of a body that takes what has arrived, not what
// was announced: a sender that stalls must not keep others from sending.
func (k *call) budgeted(r io.Reader) io.Reader { return &budgetReader{Reader: r, call: k} }

type budgetReader struct {
	io.Reader
	call *call
	read int64 // bytes that are not taken yet
}

func (r *budgetReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.read += int64(n); r.read > freeOfBudget {
		if !r.call.take(r.read) {
			return n, errNoMemory
		}
		r.read = 0
	}
	return n, err
}
