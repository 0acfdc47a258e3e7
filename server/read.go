package server

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"

	"pickup/server/openapi"
)

// list answers GET and QUERY /schedules.
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

// listChildren answers GET and QUERY /drivers/2/schedules: those whose driverId
// is the parent's id, as text.
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

// query reads what the URL asks of a collection, and with QUERY (RFC 10008)
// the condition in the body, which is returned too.
func (req *request) query(collection string) (q *query.Query, condition []byte, err error) {
	if q, err = req.snap.ParseQuery(collection, req.Request.URL.RawQuery); err != nil {
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
	if err := req.checkPage(q, nil); err != nil {
		return nil, nil, err
	}
	if prefer(req.Context, preferStrict) {
		err = req.snap.Strict(q)
	}
	return q, condition, err
}

// answer answers with a list.
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
		if media == openapi.JsonType {
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

// read answers GET /schedules/4. It takes the parameters of a list; those that
// choose records have nothing to choose from.
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

// readObject answers GET on a singular resource.
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

// one answers with one record, as the query shows it.
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
		if media != openapi.JsonType && err == nil {
			return appendCSV(nil, []jsontext.Value{b}), nil
		}
		return b, err
	})
}

// sendCached answers with the body that is kept under the tag, and reports whether
// there is one.
func (req *request) sendCached(tag, media string) (done bool, err error) {
	body := req.responses.get(tag)
	if body == nil {
		return false, nil
	}
	if !req.reserve(int64(len(body))) { // it is held while it is sent, kept or not
		return true, noMemory()
	}
	req.setCacheHeaders(tag)
	send(req.Context, http.StatusOK, media, body)
	return true, nil
}

// media returns the media type of an answer with records.
func (req *request) responseMedia() string {
	if req.prefers("text/csv") {
		return csvType
	}
	return openapi.JsonType
}

// sendNotModified answers that the client has what it asks for.
func (req *request) sendNotModified(tag string) error {
	req.setCacheHeaders(tag)
	req.Status(http.StatusNotModified)
	return nil
}
