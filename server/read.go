package server

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"

	"pickup/server/openapi"
)

// list answers GET and QUERY /schedules.
func (k *call) list() error {
	q, condition, err := k.query(k.name)
	if err != nil {
		return err
	}
	return k.answer(k.name, q, condition)
}

// listChildren answers GET and QUERY /drivers/2/schedules: those whose driverId
// is the parent's id, as text.
func (k *call) listChildren() error {
	if _, err := k.snap.Get(k.name, k.id); err != nil {
		return noRecord(k.snap, k.name, k.id)
	}
	q, condition, err := k.query(k.child)
	if err != nil {
		return err
	}
	return k.answer(k.child, k.snap.Under(q, k.name, k.id), condition)
}

// query reads what the URL asks of a collection, and with QUERY (RFC 10008)
// the condition in the body, which is returned too.
func (k *call) query(collection string) (q *query.Query, condition []byte, err error) {
	if q, err = k.snap.ParseQuery(collection, k.Request.URL.RawQuery); err != nil {
		return nil, nil, err
	}
	if k.Request.Method == methodQuery {
		if condition, err = k.condition(); err != nil {
			return nil, nil, err
		}
		if q, err = k.snap.Where(q, condition); err != nil {
			return nil, nil, inBody(err)
		}
	}
	if err := k.checkPage(q, nil); err != nil {
		return nil, nil, err
	}
	if prefers(k.Context, preferStrict) {
		err = k.snap.Strict(q)
	}
	return q, condition, err
}

// answer answers with a list.
func (k *call) answer(collection string, q *query.Query, condition []byte) error {
	media := k.media()
	source := collection
	if len(q.Embeds()) > 0 {
		source = ""
	}
	tag := k.tagOf(k.snap, source, k.Request.URL.RawQuery, media, condition)
	if k.unchanged(tag) {
		return k.notModified(tag)
	}
	if k.keep = !q.Paged(); k.keep {
		if done, err := k.sendKept(tag, media); done {
			return err
		}
	}
	result, err := k.snap.Run(q)
	if err != nil {
		return err
	}
	if err := k.checkPage(q, result); err != nil {
		return err
	}
	k.paged(collection, result, condition)
	return k.show(media, tag, func(b []byte) ([]byte, error) {
		if media == openapi.JsonType {
			return result.AppendJSON(b)
		}
		rows := make([]jsontext.Value, len(result.Records))
		var cells []byte
		for i, r := range result.Records {
			n := len(cells)
			if cells, err = k.snap.AppendRecord(cells, q, r); err != nil {
				return nil, err
			}
			rows[i] = cells[n:]
		}
		return appendCSV(b, rows), nil
	})
}

// read answers GET /schedules/4. It takes the parameters of a list; those that
// choose records have nothing to choose from.
func (k *call) read() error {
	r, err := k.snap.Get(k.name, k.id)
	if err != nil {
		return noRecord(k.snap, k.name, k.id)
	}
	return k.one(r)
}

// readObject answers GET on a singular resource.
func (k *call) readObject() error {
	v, err := k.snap.Value(k.name)
	if err != nil {
		return err
	}
	return k.one(&database.Record{Value: v})
}

// one answers with one record, as the query shows it.
func (k *call) one(r *database.Record) error {
	q, _, err := k.query(k.name)
	if err != nil {
		return err
	}
	media, tag := k.media(), ""
	if len(q.Embeds()) > 0 {
		tag = k.tagOf(k.snap, "", k.Request.URL.RawQuery, media, nil)
		if k.unchanged(tag) {
			return k.notModified(tag)
		}
		k.keep = true
		if done, err := k.sendKept(tag, media); done {
			return err
		}
	}
	return k.show(media, tag, func(b []byte) ([]byte, error) {
		b, err := k.snap.AppendRecord(b, q, r)
		if media != openapi.JsonType && err == nil {
			return appendCSV(nil, []jsontext.Value{b}), nil
		}
		return b, err
	})
}

// sendKept answers with the body that is kept under the tag, and reports whether
// there is one.
func (k *call) sendKept(tag, media string) (done bool, err error) {
	body := k.answers.get(tag)
	if body == nil {
		return false, nil
	}
	if !k.take(int64(len(body))) { // it is held while it is sent, kept or not
		return true, noMemory()
	}
	k.cacheable(tag)
	send(k.Context, http.StatusOK, media, body)
	return true, nil
}

// media returns the media type of an answer with records.
func (k *call) media() string {
	if k.wantsCSV() {
		return csvType
	}
	return openapi.JsonType
}

// notModified answers that the client has what it asks for.
func (k *call) notModified(tag string) error {
	k.cacheable(tag)
	k.Status(http.StatusNotModified)
	return nil
}
