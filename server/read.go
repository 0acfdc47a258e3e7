package server

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"

	"pickup/server/openapi"
)

// list serves GET and QUERY of a collection.
func (req *request) list() error {
	if req.wantsStream() {
		return req.streamList(req.name)
	}
	q, condition, err := req.query(req.name)
	if err != nil {
		return err
	}
	return req.sendList(req.name, q, condition)
}

// listChildren serves GET and QUERY /drivers/2/schedules: the records whose
// driverId, as text, is the id of the parent.
func (req *request) listChildren() error {
	if _, err := req.snap.Get(req.name, req.id); err != nil {
		return noRecord(req.snap, req.name, req.id)
	}
	if req.wantsStream() {
		return req.streamList(req.child)
	}
	q, condition, err := req.query(req.child)
	if err != nil {
		return err
	}
	return req.sendList(req.child, req.snap.Under(q, req.name, req.id), condition)
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
	if len(q.Embeds()) > 0 {
		source = ""
	}
	tag := req.tagOf(req.snap, source, req.Request.URL.RawQuery, media, condition)
	if req.isNotModified(tag) {
		return req.sendNotModified(tag)
	}
	if req.keepBody = !q.Paged(); req.keepBody {
		if done, err := req.sendCached(tag, media); done {
			return err
		}
	}
	result, err := req.snap.Run(q)
	if err != nil {
		return err
	}
	if err := req.checkPage(q, result); err != nil {
		return err
	}
	req.setPageHeaders(collection, result, condition)
	return req.sendTagged(media, tag, func(b []byte) ([]byte, error) {
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

// read serves GET of a record. It accepts the parameters of a list, but those that
// select records have no effect.
func (req *request) read() error {
	if req.wantsStream() {
		return req.streamRecord()
	}
	r, err := req.snap.Get(req.name, req.id)
	if err != nil {
		return noRecord(req.snap, req.name, req.id)
	}
	return req.sendRecord(r)
}

// readObject serves GET of a singular resource.
func (req *request) readObject() error {
	if req.wantsStream() {
		return req.streamRecord()
	}
	v, err := req.snap.Value(req.name)
	if err != nil {
		return err
	}
	return req.sendRecord(&database.Record{Value: v})
}

// sendRecord sends one record, with the members that the query asks for.
func (req *request) sendRecord(r *database.Record) error {
	q, _, err := req.query(req.name)
	if err != nil {
		return err
	}
	media, tag := req.responseMedia(), ""
	if len(q.Embeds()) > 0 {
		tag = req.tagOf(req.snap, "", req.Request.URL.RawQuery, media, nil)
		if req.isNotModified(tag) {
			return req.sendNotModified(tag)
		}
		req.keepBody = true
		if done, err := req.sendCached(tag, media); done {
			return err
		}
	}
	return req.sendTagged(media, tag, func(b []byte) ([]byte, error) {
		b, err := req.snap.AppendRecord(b, q, r)
		if media != openapi.JSONType && err == nil {
			return appendCSV(nil, []jsontext.Value{b}), nil
		}
		return b, err
	})
}

// sendCached sends the cached body that has the tag, and reports whether there is
// one.
func (req *request) sendCached(tag, media string) (done bool, err error) {
	body := req.responses.get(tag)
	if body == nil {
		return false, nil
	}
	if !req.reserve(int64(len(body))) { // it stays in memory while it is sent, even if the cache drops it
		return true, noMemory()
	}
	req.setCacheHeaders(tag)
	send(req.Context, http.StatusOK, media, body)
	return true, nil
}

// responseMedia returns the media type of an answer with records.
func (req *request) responseMedia() string {
	if req.prefers("text/csv") {
		return csvType
	}
	return openapi.JSONType
}

// sendNotModified sends 304 (Not Modified).
func (req *request) sendNotModified(tag string) error {
	req.setCacheHeaders(tag)
	req.Status(http.StatusNotModified)
	return nil
}

// checkPage limits a page to MaxPage records: the size that the query asks for,
// and the size that it turns out to have.
func (req *request) checkPage(q *query.Query, r *database.Result) error {
	size, parameter := q.PageSize()
	if req.MaxPage > 0 && parameter != "" && max(size, len(r.Records)) > req.MaxPage {
		return badParameter(parameter, fmt.Sprintf("a page has at most %d records", req.MaxPage))
	}
	return nil
}
