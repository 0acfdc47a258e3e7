package server

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// list serves GET and QUERY of a collection, and of /drivers/2/schedules: the
// records whose driverId, as text, is the id of the parent.
func (req *request) list() error {
	if err := req.checkParent(); err != nil {
		return err
	}
	collection := req.collection()
	if wantsStream(req.Request) {
		return req.streamList(collection)
	}
	q, condition, err := req.listQuery(collection)
	if err != nil {
		return err
	}
	return req.sendList(collection, q, condition)
}

// collection returns the collection that a list or a POST is about.
func (req *request) collection() string { return cmp.Or(req.child, req.name) }

// checkParent returns an error if the path is below a record that does not exist.
func (req *request) checkParent() error {
	if req.child == "" {
		return nil
	}
	if _, err := req.snap.Get(req.name, req.id); err != nil {
		return noRecord(req.snap, req.name, req.id)
	}
	return nil
}

// listQuery returns the query of a list.
func (req *request) listQuery(collection string) (*query.Query, []byte, error) {
	q, condition, err := req.query(collection)
	if err != nil {
		return nil, nil, err
	}
	unknown, err := req.db.CheckFilters(req.snap, q)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range unknown {
		req.logUnknown(collection, name)
	}
	if _, size := q.PageSize(); size == "" && q.Window(0).Dialect == query.ByPage {
		req.pageAlone.Do(func() {
			req.Log.Info("a page without _limit and _per_page is an array, as json-server 0.17 sends it; with _per_page=10 it is the object of version 1", "collection", collection)
		})
	}
	if req.child != "" {
		q = req.snap.Under(q, req.name, req.id)
	}
	return q, condition, nil
}

// maxUnknown is the number of unknown members that the log names.
const maxUnknown = 1000

// logUnknown logs, once, that clients filter by a member that no record has.
func (s *server) logUnknown(collection, name string) {
	name = httpx.Clip(name)
	if s.unknownCount.Load() >= maxUnknown {
		return
	}
	if _, logged := s.unknown.LoadOrStore([2]string{collection, name}, true); !logged {
		s.unknownCount.Add(1)
		s.Log.Info("a filter selects nothing, because no record has its member", "collection", collection, "member", name)
	}
}

// query parses the query of the URL, and for the method QUERY the condition in the
// body, which it also returns.
func (req *request) query(collection string) (q *query.Query, condition []byte, err error) {
	if q, err = req.snap.NewQuery(collection, req.parameters); err != nil {
		return nil, nil, err
	}
	if req.Request.Method == methodQuery {
		if condition, err = req.readCondition(); err != nil {
			return nil, nil, err
		}
		if q, err = req.snap.Where(q, condition); err != nil {
			return nil, nil, conditionError(err)
		}
	}
	if prefer(req.Context, preferStrict) {
		err = req.snap.Strict(q)
	}
	return q, condition, err
}

// sendList sends the records that a query selects.
func (req *request) sendList(collection string, q *query.Query, condition []byte) error {
	media := req.responseMedia()
	source := collection
	if len(q.Embeds) > 0 {
		source = ""
	}
	tag := req.tagOf(req.snap, source, req.Request.URL.RawQuery, media, condition)
	req.keepBody = !q.Paged()
	if done, err := req.sendKnown(media, tag); done {
		return err
	}
	result, err := req.snap.Run(q) // without a build slot, because it may take seconds
	if err != nil {
		return err
	}
	if err := req.checkPage(q, result); err != nil {
		return err
	}
	req.setPageHeaders(collection, result, condition)
	return req.sendNew(media, tag, func(b []byte) ([]byte, error) {
		if media == openapi.JSONType {
			return result.AppendJSON(b)
		}
		rows := make([]jsontext.Value, len(result.Records))
		var cells []byte
		for i, r := range result.Records {
			n := len(cells)
			if cells, err = req.snap.AppendRecord(cells, q, r); err != nil {
				return nil, err
			}
			rows[i] = cells[n:]
		}
		return appendCSV(b, rows), nil
	})
}

// read serves GET of a record or a singular object. It accepts the parameters of a
// list, but those that select records have no effect.
func (req *request) read() error {
	if wantsStream(req.Request) {
		return req.streamRecord()
	}
	r, err := new(database.Record), error(nil)
	if req.id != "" {
		r, err = req.snap.Get(req.name, req.id)
	} else {
		r.Value, err = req.snap.Value(req.name)
	}
	if err != nil {
		return req.missing(req.snap)
	}
	q, _, err := req.query(req.name)
	if err != nil {
		return err
	}
	media, tag := req.responseMedia(), ""
	if len(q.Embeds) > 0 {
		tag = req.tagOf(req.snap, "", req.Request.URL.RawQuery, media, nil)
		req.keepBody = true
	}
	return req.sendTagged(media, tag, func(b []byte) ([]byte, error) {
		b, err := req.snap.AppendRecord(b, q, r)
		if media != openapi.JSONType && err == nil {
			return appendCSV(nil, []jsontext.Value{b}), nil
		}
		return b, err
	})
}

// responseMedia returns the media type of an answer with records.
func (req *request) responseMedia() string {
	if httpx.Prefers(req.Request, "text/csv") {
		return csvType
	}
	return openapi.JSONType
}

// checkPage limits a page to MaxPage records: the size that the query asks for,
// and the size that it turns out to have.
func (req *request) checkPage(q *query.Query, r *database.Result) error {
	size, parameter := q.PageSize()
	if req.MaxPage > 0 && parameter != "" && max(size, len(r.Records)) > req.MaxPage {
		return problem.BadParameter(parameter, fmt.Sprintf("a page has at most %d records", req.MaxPage))
	}
	return nil
}
