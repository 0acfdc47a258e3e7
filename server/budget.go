package server

import (
	"errors"
	"io"
	"runtime"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// A budget bounds the memory of bodies and answers that wait for slow clients.
// What is small costs nothing, so that it is served whatever large ones do.
type budget struct {
	most     int64         // bytes
	used     atomic.Int64  // of these
	builders chan struct{} // one for each of withBuildSlot that runs
}

const (
	freeOfBudget  = 64 << 10  // bytes of a request
	recordCost    = 1 << 10   // bytes that a record costs while it is created, beside its text
	defaultBudget = 256 << 20 // or four bodies, where they may be larger
)

func newBudget(maxBody int64) budget {
	return budget{most: max(defaultBudget, 4*maxBody), builders: make(chan struct{}, 4*runtime.GOMAXPROCS(0))}
}

// errNoMemory says that the budget is used up.
var errNoMemory = errors.New("the budget is used up")

// take takes n bytes of the budget until the request ends. It reports false
// where there are none left; a request that is alone may have any number, or a
// list that is greater than the budget would never be served.
func (req *request) reserve(n int64) bool {
	if n <= freeOfBudget {
		return true
	}
	if used := req.budget.used.Add(n); used > req.budget.most && used != req.reserved+n {
		req.budget.used.Add(-n)
		return false
	}
	req.reserved += n
	return true
}

// hold takes what the answer to a write needs. A transaction asks for it before
// anything is stored, and again each time that it is run: a write that has been
// done cannot be refused any more, and changes of many kilobytes take few bytes
// of a body to ask for.
func (req *request) reserveAnswer(answer jsontext.Value) error {
	more := int64(len(answer)) - req.answerSize
	if more <= freeOfBudget {
		return nil
	}
	if !req.reserve(more) {
		return noMemory()
	}
	req.answerSize += more
	return nil
}

// release gives back what the call has taken.
func (req *request) release() {
	req.budget.used.Add(-req.reserved)
	req.reserved = 0
}

// budgeted returns a reader of a body that takes what has arrived, not what
// was announced: a sender that stalls must not keep others from sending.
func (req *request) budgeted(r io.Reader) io.Reader { return &budgetReader{Reader: r, request: req} }

type budgetReader struct {
	io.Reader
	request *request
	read    int64 // bytes that are not taken yet
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
