package server

import (
	"errors"
	"io"
	"runtime"
	"sync/atomic"

	"pickup/server/internal/problem"
)

// A budget limits the memory for bodies and answers that wait for slow clients.
// Small ones do not count, so they are served even if large ones use it up.
type budget struct {
	limit    int64         // bytes
	used     atomic.Int64  // bytes
	builders chan struct{} // the slots of withBuildSlot
}

const (
	freeOfBudget  = 64 << 10  // bytes of a request that do not count
	recordCost    = 1 << 10   // bytes that creating a record needs in addition to its text
	defaultBudget = 256 << 20 // or four bodies of the maximum size, if that is more
)

func newBudget(maxBody int64) budget {
	return budget{limit: max(defaultBudget, 4*maxBody), builders: make(chan struct{}, 4*runtime.GOMAXPROCS(0))}
}

var errNoMemory = errors.New("the budget is used up")

// reserve reserves n bytes of the budget until the request ends. It returns false
// if too few are left. A request that is alone may reserve any number, otherwise a
// list larger than the budget could never be served.
func (req *request) reserve(n int64) bool {
	if n <= freeOfBudget {
		return true
	}
	if used := req.budget.used.Add(n); used > req.budget.limit && used != req.reserved+n {
		req.budget.used.Add(-n)
		return false
	}
	req.reserved += n
	return true
}

// reserveAnswer reserves the memory for the answer to a write. A transaction calls
// it each time that it runs, before anything is stored: afterwards it is too late
// to refuse the write. A small body can ask for a large answer.
func (req *request) reserveAnswer(size int) error {
	more := int64(size) - req.answerSize
	if more <= freeOfBudget {
		return nil
	}
	if !req.reserve(more) {
		return problem.NoMemory()
	}
	req.answerSize += more
	return nil
}

// release returns what the request has reserved.
func (req *request) release() { req.budget.used.Add(-req.reserved) }

// budgeted returns a reader of a body that reserves what has arrived, not what was
// announced: a client that stalls must not block others.
func (req *request) budgeted(r io.Reader) io.Reader { return &budgetReader{Reader: r, request: req} }

type budgetReader struct {
	io.Reader
	request *request
	read    int64 // bytes that are not reserved yet
}

func (r *budgetReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.read += int64(n); r.read > freeOfBudget {
		if !r.request.reserve(r.read) {
			return n, errNoMemory
		}
		r.read = 0
	}
	return n, err
}
