package server

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A topic is what a stream is about. It never changes.
type topic interface {
	// appendState appends the data of a reset: the state in a snapshot.
	appendState(b []byte, snap *database.Snapshot) ([]byte, error)

	// events returns the events that lead to the state after a revision. It
	// reports false if only a reset does.
	events(r *database.Revision) ([]event, bool)
}

// An event is one server-sent event (HTML Standard section 9.2) without its id.
type event struct {
	name string
	data []byte // without line breaks, as compact JSON is
}

func (e event) append(b []byte, id string) []byte {
	b = append(append(b, "event: "...), e.name...)
	if id != "" {
		b = append(append(b, "\nid: "...), id...)
	}
	return append(append(append(b, "\ndata: "...), e.data...), "\n\n"...)
}

// eventID returns the id of the state at a revision.
func eventID(run string, rev storage.Rev) string {
	return run + "-" + strconv.FormatUint(uint64(rev), 10)
}

// encode returns the events of revisions, one frame for each Rev that has any.
// Only the last event of a Rev has its id, so a client that has lost the
// connection in between gets all of them again.
func encode(run string, t topic, revisions []*database.Revision) ([]frame, error) {
	events := make([][]event, len(revisions))
	for i := len(revisions) - 1; i >= 0; i-- {
		var ok bool
		if events[i], ok = t.events(revisions[i]); !ok {
			data, err := t.appendState(nil, revisions[i].After)
			if err != nil {
				return nil, err
			}
			events[i] = []event{{"reset", data}}
			break // nobody needs what comes before
		}
	}
	var frames []frame
	for i := 0; i < len(revisions); {
		f := frame{rev: revisions[i].Rev}
		var all []event
		for ; i < len(revisions) && revisions[i].Rev == f.rev; i++ {
			all = append(all, events[i]...)
		}
		for j, e := range all {
			id := ""
			if j == len(all)-1 {
				id = eventID(run, f.rev)
			}
			f.data = e.append(f.data, id)
		}
		if all != nil {
			frames = append(frames, f)
		}
	}
	return frames, nil
}

// resetFrame returns the event that replaces all that a client has.
func resetFrame(run string, t topic, snap *database.Snapshot) (frame, error) {
	data, err := t.appendState(nil, snap)
	if err != nil {
		return frame{}, err
	}
	return frame{rev: snap.Rev(), data: event{"reset", data}.append(nil, eventID(run, snap.Rev()))}, nil
}

// fileEvent returns the event that the file cannot be read, or with "" that it
// can be read again. It has no id: only the present state counts.
func fileEvent(broken string) []byte {
	if broken == "" {
		return event{"mended", []byte("{}")}.append(nil, "")
	}
	return event{"broken", append(rawjson.AppendQuote([]byte(`{"detail":`), broken), '}')}.append(nil, "")
}

// brokenDetail returns what a client is told about an error of the file or cluster,
// "" if there is none.
func brokenDetail(db *database.DB) string {
	var broken *storage.BrokenError
	var away *storage.AwayError
	switch err := db.Err(); {
	case err == nil:
		return ""
	case errors.As(err, &broken):
		return fmt.Sprintf("%s:%d:%d: %s", filepath.Base(broken.File), broken.Line, broken.Column, broken.Reason)
	case errors.As(err, &away):
		return "the cluster has not answered since " + away.Since.UTC().Format(time.RFC3339)
	}
	return "the " + keeper(db) + " cannot be read at present" // the log says why
}

// appendChange appends the data of an event about one element, or with an empty
// id about a whole member. A deleted one has no record.
func appendChange(collection, id string, by database.Source, record func(b []byte) []byte) []byte {
	b := rawjson.AppendQuote([]byte(`{"collection":`), collection)
	if id != "" {
		b = rawjson.AppendQuote(append(b, `,"id":`...), id)
	}
	if record != nil {
		b = record(append(b, `,"record":`...))
	}
	b = rawjson.AppendQuote(append(b, `,"by":`...), string(by))
	return append(b, '}')
}

// listTopic is the records of a collection that a query wants. One that is not
// there has none.
type listTopic struct{ query *query.Query }

func (t listTopic) appendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	b = rawjson.AppendQuote(append(b, `{"collection":`...), t.query.Collection)
	b = append(b, `,"records":`...)
	result, err := snap.Run(t.query)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		b = append(b, "[]"...)
	case err != nil:
		return nil, err
	default:
		if b, err = result.AppendJSON(b); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func (t listTopic) events(r *database.Revision) (events []event, ok bool) {
	name := t.query.Collection
	for _, ch := range r.Changes {
		if ch.Collection != name {
			continue
		}
		if ch.ID == "" {
			return nil, false
		}
		was := ch.Before != nil && t.query.Match(ch.Before)
		is := ch.After != nil && t.query.Match(ch.After)
		op := database.Updated
		switch {
		case !was && !is:
			continue
		case storage.IsPositionKey(ch.ID): // a client could not say which one it is
			return nil, false
		case !was:
			op = database.Created
		case !is:
			op = database.Deleted
		}
		var record func([]byte) []byte
		if is {
			record = func(b []byte) []byte { return appendProjected(b, t.query, ch.After) }
		}
		events = append(events, event{string(op), appendChange(name, ch.ID, r.Source, record)})
	}
	return events, r.Counts[name] == 0
}

// appendProjected appends a record as a query without embedding shows it.
func appendProjected(b []byte, q *query.Query, v jsontext.Value) []byte {
	if q.Projects() && v.Kind() == '{' {
		return q.AppendFields(b, v)
	}
	return append(b, v...)
}

// A recordTopic is one record or, with an empty id, a singular resource.
type recordTopic struct {
	query *query.Query // shows it
	id    string
}

// value returns what a GET answers, nil if there is nothing.
func (t recordTopic) value(snap *database.Snapshot) jsontext.Value {
	name := t.query.Collection
	switch kind, _ := snap.Kind(name); {
	case t.id == "" && kind == storage.Object:
		v, _ := snap.Value(name) // it is there
		return v
	case t.id != "" && kind == storage.Array:
		if r, err := snap.Get(name, t.id); err == nil {
			return r.Value
		}
	}
	return nil
}

func (t recordTopic) appendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	b = append(b, `{"record":`...)
	if v := t.value(snap); v != nil {
		b = appendProjected(b, t.query, v)
	} else {
		b = append(b, "null"...)
	}
	return append(b, '}'), nil
}

func (t recordTopic) events(r *database.Revision) ([]event, bool) {
	name := t.query.Collection
	if !slices.ContainsFunc(r.Changes, func(ch database.Change) bool {
		return ch.Collection == name && (ch.ID == t.id || ch.ID == "")
	}) {
		return nil, r.Counts[name] == 0
	}
	before, after := t.value(r.Before), t.value(r.After)
	op := database.Updated
	switch {
	case bytes.Equal(before, after):
		return nil, true
	case before == nil:
		op = database.Created
	case after == nil:
		op = database.Deleted
	}
	var record func([]byte) []byte
	if after != nil {
		record = func(b []byte) []byte { return appendProjected(b, t.query, after) }
	}
	return []event{{string(op), appendChange(name, t.id, r.Source, record)}}, true
}

// databaseTopic is the whole database.
type databaseTopic struct{}

func (databaseTopic) appendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	return append(snap.AppendJSON(append(b, `{"db":`...)), '}'), nil
}

func (databaseTopic) events(r *database.Revision) (events []event, ok bool) {
	for _, ch := range r.Changes {
		if kind, there := r.After.Kind(ch.Collection); storage.IsPositionKey(ch.ID) || ch.ID == "" && there && kind == storage.Array {
			return nil, false
		}
		var record func([]byte) []byte
		if ch.After != nil {
			record = func(b []byte) []byte { return append(b, ch.After...) }
		}
		events = append(events, event{string(ch.Op), appendChange(ch.Collection, ch.ID, r.Source, record)})
	}
	return events, r.Counts == nil
}
