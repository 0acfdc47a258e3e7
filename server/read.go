package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"pickup/server/internal/httpx"
	"pickup/server/openapi"
)

// read serves GET of a record or a singular object. It accepts the parameters of a
// list, but those that select records have no effect.
func (req *request) read() error {
	if httpx.WantsStream(req.Request) {
		return req.streamRecord()
	}
	value, err := req.snap.Target(req.name, req.id)
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
		b, err := req.snap.AppendRecord(b, q, value)
		if media != openapi.JSONType && err == nil {
			return appendCSV(nil, []jsontext.Value{b}), nil
		}
		return b, err
	})
}

// readDatabase serves GET /db: all top-level fields, including "$schema" and
// scalars.
func (req *request) readDatabase() error {
	if httpx.WantsStream(req.Request) {
		return req.streamDatabase()
	}
	if len(req.parameters) > 0 {
		return onlyStream(req.parameters[0].Name)
	}
	tag := req.tagOf(req.snap, "", "", openapi.JSONType, nil)
	return req.sendTagged(openapi.JSONType, tag, func(b []byte) ([]byte, error) { return req.snap.AppendJSON(b), nil })
}
