package server

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// list serves GET and QUERY of a collection, and of /drivers/2/schedules: the records whose
// driverId is the id of the parent, compared as text.
func (req *request) list() error {
	if err := req.checkParent(); err != nil {
		return err
	}
	collection := req.collection()
	if httpx.WantsStream(req.Request) {
		return req.streamList(collection)
	}
	q, condition, err := req.listQuery(collection)
	if err != nil {
		return err
	}
	return req.sendList(collection, q, condition)
}

// sendList sends the records that a query selects.
func (req *request) sendList(collection string, q *query.Query, condition []byte) error {
	media := req.responseMedia()
	source := collection
	if len(q.Embeds) > 0 {
		source = ""
	}
	tag := req.tagOf(req.snap, source, req.Request.URL.RawQuery, media, condition)
	cache := q.Paging.Dialect == query.Whole
	return req.respond(response{media: media, tag: tag, cache: cache, quick: true}, func(b []byte) ([]byte, error) {
		result, err := req.snap.Run(q) // may take seconds, so it must not occupy a slot
		if err != nil {
			return nil, err
		}
		// The query gives the size of a page, or the size follows from the query.
		if p := q.Paging; req.MaxPage > 0 && p.Parameter != "" && max(p.Size, len(result.Records)) > req.MaxPage {
			return nil, problem.BadParameter(p.Parameter, "a page may have at most %d records", req.MaxPage)
		}
		req.setPageHeaders(collection, result, condition)
		req.total = result.Total
		if req.form != nil && req.form.List != "" && result.Dialect == query.Envelope {
			result.Dialect = query.ByPage // the configured envelope replaces json-server's
		}
		req.withBuildSlot(func() {
			if media == openapi.JSONType {
				b, err = result.AppendJSON(b)
			} else {
				b, err = req.appendCSVRecords(b, q, result.Records)
			}
		})
		return b, err
	})
}

// appendCSVRecords appends the records of a list as CSV.
func (req *request) appendCSVRecords(b []byte, q *query.Query, records []*database.Record) ([]byte, error) {
	rows := make([]jsontext.Value, len(records))
	var cells []byte
	for i, r := range records {
		n := len(cells)
		var err error
		cells, err = req.snap.AppendRecord(cells, q, r.Value)
		if err != nil {
			return nil, err
		}
		rows[i] = cells[n:]
	}
	return appendCSV(b, rows), nil
}

// responseMedia returns the media type of a response with records.
func (req *request) responseMedia() string {
	if httpx.Prefers(req.Request, "text/csv") {
		req.form = nil // only JSON has a form
		return csvType
	}
	return openapi.JSONType
}

// maxLinked is the maximum length of a query in Link, in bytes. Clients limit the size of headers.
const maxLinked = 2 << 10

// setPageHeaders sets X-Total-Count and Link, as json-server 0.17 does, and Content-Range, if the
// response is a part of a list. Clients follow links with GET, so the links of a QUERY contain the
// condition.
func (req *request) setPageHeaders(collection string, r *database.Result, condition []byte) {
	if r.Dialect == query.Whole {
		return
	}
	h := req.Writer.Header()
	total := strconv.Itoa(r.Total)
	h.Set("X-Total-Count", total)
	part := "*"
	if n := len(r.Records); n > 0 {
		part = strconv.Itoa(r.Offset) + "-" + strconv.Itoa(r.Offset+n-1)
	}
	// A range unit is a token, which an escaped name always is.
	h.Set("Content-Range", url.QueryEscape(collection)+" "+part+"/"+total)
	query := req.sent.RawQuery
	if condition != nil {
		query += "&_where=" + url.QueryEscape(string(condition))
	}
	if len(query) > maxLinked {
		return
	}
	var links []string
	for _, l := range r.Links(query) {
		links = append(links, "<"+urlOf(req.Request)+"?"+uriText(l.Query)+`>; rel="`+l.Rel+`"`)
	}
	if links != nil {
		h.Set("Link", strings.Join(links, ", "))
	}
}

// read serves GET of a record or a singular object. It accepts the parameters of a list. Filters
// have no effect.
func (req *request) read() error {
	if httpx.WantsStream(req.Request) {
		return req.streamRecord()
	}
	value, err := req.snap.Target(req.name, req.id)
	if err != nil {
		return req.missing(req.snap)
	}
	media := req.responseMedia()
	q := new(query.Query)
	if len(req.parameters) == 0 { // as in most requests: no query to parse
		req.prefer(preferStrict)
	} else {
		q, _, err = req.query(req.name)
		if err != nil {
			return err
		}
	}
	r := response{media: media, quick: len(q.Embeds) == 0}
	if !r.quick {
		r.tag = req.tagOf(req.snap, "", req.Request.URL.RawQuery, media, nil)
		r.cache = true
	}
	return req.respond(r, func(b []byte) ([]byte, error) {
		b, err := req.snap.AppendRecord(b, q, value)
		if media != openapi.JSONType && err == nil {
			return appendCSV(nil, []jsontext.Value{b}), nil
		}
		return b, err
	})
}

// readDatabase serves GET /db: all top-level fields, including "$schema" and scalars.
func (req *request) readDatabase() error {
	if httpx.WantsStream(req.Request) {
		return req.streamDatabase()
	}
	if len(req.parameters) > 0 {
		return onlyStream(req.parameters[0].Name)
	}
	return req.sendText(response{tag: req.listTag(req.snap, "")}, req.snap.AppendJSON)
}
