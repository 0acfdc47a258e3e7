package server

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/server/openapi"
)

// maxStreamedChanges is the number of changes up to which the event of
// a revision lists them.
const maxStreamedChanges = 200

// listChanges serves GET /_/changes: the revisions that the history holds, the
// newest first, or as a stream those to come.
func (req *request) listChanges() error {
	t, limit := changesTopic{run: req.db.Run(), values: true, most: maxStreamedChanges}, -1
	for _, p := range req.parameters {
		switch n, err := strconv.Atoi(p.Value); {
		case p.Name == "_fields" && p.Value == "id":
			t.values = false
		case p.Name == "_fields":
			return badParameter(p.Name, `it can only be "id", which leaves out before and after`)
		case p.Name == "_limit" && (err != nil || n < 0):
			return badParameter(p.Name, "it is the number of revisions")
		case p.Name == "_limit":
			limit = n
		case p.Name == "_streams" && !wantsStream(req.Request):
			return onlyStream(p.Name)
		case p.Name == "_streams" && p.Value != "1":
			return badParameter(p.Name, "it can only be 1, which reports streams that open or close")
		case p.Name == "_streams":
			t.streams = true
		case p.Name == "_requests":
			if err := req.followRequests(p.Value); err != nil {
				return err
			}
		}
	}
	if wantsStream(req.Request) {
		since, err := req.readSince([]string{"_limit"})
		if err != nil {
			return err
		}
		if req.log != nil {
			if since.run != req.db.Run() { // another server has counted, or this one before a restart
				req.log.number = 0
			}
			req.log.all = req.log.number == 0
			req.leaveOut("_requests")
		}
		return req.stream(t, since)
	}
	begin, err := req.readSince(nil)
	if err != nil {
		return err
	}
	revisions := req.db.History()
	if begin.now {
		revisions = nil
	} else if begin.run != "" {
		after, ok, _ := req.db.Since(begin.rev)
		if !ok || begin.run != req.db.Run() || !req.db.Shown(begin.rev) {
			return gone(eventID(begin.run, begin.rev))
		}
		revisions = after
	}
	slices.Reverse(revisions)
	if limit >= 0 {
		revisions = revisions[:min(limit, len(revisions))]
	}
	t.most = -1
	return req.sendTagged(openapi.JSONType, "", func(b []byte) ([]byte, error) {
		b = append(b, '[')
		for _, r := range revisions {
			b = t.appendRevision(rawjson.AppendComma(b), r)
		}
		return append(b, ']'), nil
	})
}

// onlyStream returns the error for a parameter that only a stream takes.
func onlyStream(name string) *problem { return badParameter(name, "only a stream has it") }

// followRequests lets the stream report the requests after one, too.
func (req *request) followRequests(id string) error {
	number, err := strconv.ParseUint(id, 10, 64)
	switch {
	case !req.Requests:
		return badParameter("_requests", "the settings of the server turn it off")
	case !wantsStream(req.Request):
		return onlyStream("_requests")
	case err != nil:
		return badParameter("_requests", "it is the id of a request, or 0")
	case isElsewhere(req.Request):
		return requestsForbidden()
	}
	req.log = &requestFeed{log: &req.requests, number: number, shared: true}
	return nil
}

// changesTopic is the revisions of a database.
type changesTopic struct {
	run     string
	values  bool // with before and after
	most    int  // changes of a revision that are listed; -1: all
	streams bool // with the event status when streams open or close
}

func (t changesTopic) appendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	b = rawjson.AppendQuote(append(b, `{"rev":`...), eventID(t.run, snap.Rev()))
	return append(b, '}'), nil
}

func (t changesTopic) events(r *database.Revision) ([]event, bool) {
	return []event{{"change", t.appendRevision(nil, r)}}, true
}

// appendRevision appends a revision. One with too many changes has their number
// in each collection instead.
func (t changesTopic) appendRevision(b []byte, r *database.Revision) []byte {
	b = rawjson.AppendQuote(append(b, `{"rev":`...), eventID(t.run, r.Rev))
	b = append(r.Time.UTC().AppendFormat(append(b, `,"at":"`...), time.RFC3339Nano), '"')
	b = rawjson.AppendQuote(append(b, `,"by":`...), string(r.Source))
	if r.Request != "" {
		b = rawjson.AppendQuote(append(b, `,"request":`...), r.Request)
	}
	if r.Undoes != 0 {
		b = rawjson.AppendQuote(append(b, `,"undoes":`...), eventID(t.run, r.Undoes))
	}
	return append(t.appendChanges(b, r.Changes, r.Counts), '}')
}

// appendChanges appends the member changes. With counts, or if there are too many
// changes, it is null, and collections has their number.
func (t changesTopic) appendChanges(b []byte, changes []database.Change, counts map[string]int) []byte {
	if counts == nil && t.most >= 0 && len(changes) > t.most {
		counts = make(map[string]int)
		for _, ch := range changes {
			counts[ch.Collection]++
		}
	}
	if counts != nil {
		return appendCounts(append(b, `,"changes":null,"collections":`...), counts)
	}
	b = append(b, `,"changes":[`...)
	for _, ch := range changes {
		b = t.appendChange(rawjson.AppendComma(b), ch)
	}
	return append(b, ']')
}

// appendChange appends a change. A whole array, and an element without an id of
// its own, has no id. Without an op only the element is named.
func (t changesTopic) appendChange(b []byte, ch database.Change) []byte {
	b = rawjson.AppendQuote(append(b, `{"collection":`...), ch.Collection)
	if ch.ID != "" && !storage.IsPositionKey(ch.ID) {
		b = rawjson.AppendQuote(append(b, `,"id":`...), ch.ID)
	}
	if ch.Op != "" {
		b = rawjson.AppendQuote(append(b, `,"op":`...), string(ch.Op))
	}
	if t.values && ch.Before != nil {
		b = append(append(b, `,"before":`...), ch.Before...)
	}
	if t.values && ch.After != nil {
		b = append(append(b, `,"after":`...), ch.After...)
	}
	return append(b, '}')
}

// appendCounts appends an object with the names in their order.
func appendCounts(b []byte, counts map[string]int) []byte {
	b = append(b, '{')
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		b = strconv.AppendInt(append(rawjson.AppendQuote(rawjson.AppendComma(b), name), ':'), int64(counts[name]), 10)
	}
	return append(b, '}')
}
