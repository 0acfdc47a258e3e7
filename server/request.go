package server

import (
	"net/url"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/server/envelope"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
)

// A request is one request to one route. All that it reads comes from snap.
type request struct {
	*server
	*gin.Context
	db    *database.DB // hides the server's db: in a session it is the fork
	snap  *database.Snapshot
	name  string   // of the top-level field
	id    string   // of the record, or of the parent
	child string   // the collection whose records refer to the parent
	path  []string // that leads to a nested value, which snap has as the field called name; nil: it leads to none

	parameters []query.Parameter // of the URL

	session     *session // which it uses, nil if none
	sent        *url.URL // as the client has sent it
	sessionPath string   // what its path begins with if it names the session, or ""

	form  *envelope.Form // of the records in the body and in the answer
	total int            // the records of the list of which the answer is a part

	reserved   int64    // bytes of the server's budget
	answerSize int64    // the part of reserved that is for the answer to a write
	dependent  []string // the collections in which DELETE deletes records that refer to this one
}

func (s *server) newRequest(c *gin.Context) *request {
	req := &request{server: s, Context: c, sent: c.Request.URL}
	if p := addressOf(c.Request); p != nil {
		req.sent, req.sessionPath = p.sent, sessionPath(p)
	}
	req.use(s.db)
	return req
}

// base returns what the paths of the API begin with for the client.
func (req *request) base() string { return req.sessionPath + req.Prefix }

// use makes the request one to db.
func (req *request) use(db *database.DB) {
	req.db, req.snap = db, db.Snapshot()
	req.setRevision(req.snap)
	// The state may not be the latest (RFC 9111 section 5.1).
	if age := db.Age(); age > staleAfter {
		req.Writer.Header()["Age"] = []string{strconv.Itoa(int(age / time.Second))}
	}
}

const (
	revisionHeader  = "Pickup-Revision"
	unchangedHeader = "Pickup-Unchanged"
)

// setRevision sets Pickup-Revision: what the request has read, or has led to.
func (req *request) setRevision(snap *database.Snapshot) {
	r := req.revision.Load()
	if r == nil || r.run != req.db.Run() || r.rev != snap.Rev() {
		r = &revisionValue{req.db.Run(), snap.Rev(), []string{live.EventID(req.db.Run(), snap.Rev())}}
		req.revision.Store(r)
	}
	req.Writer.Header()[revisionHeader] = r.value
}

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
