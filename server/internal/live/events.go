package live

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/requestlog"
)

// A Topic is what a stream is about. It never changes.
type Topic interface {
	// AppendState appends the data of a reset: the state in a snapshot.
	AppendState(b []byte, snap *database.Snapshot) ([]byte, error)

	// Events returns the events that lead to the state after a revision. It
	// reports false if only a reset does.
	Events(r *database.Revision) ([]Event, bool)
}

// An Event is one server-sent event (HTML Standard section 9.2) without its id.
type Event struct {
	name string
	data []byte // without line breaks, as compact JSON is
}

func (e Event) append(b []byte, id string) []byte {
	b = append(append(b, "event: "...), e.name...)
	if id != "" {
		b = append(append(b, "\nid: "...), id...)
	}
	return append(append(append(b, "\ndata: "...), e.data...), "\n\n"...)
}

// EventID returns the id of the state at a revision.
func EventID(run string, rev storage.Rev) string {
	return run + "-" + strconv.FormatUint(uint64(rev), 10)
}

// A batch is the events that lead streams from one state to a later one.
type batch struct {
	from, until storage.Rev // the earlier states: these and all between them
	rev         storage.Rev // the later state
	data        []byte
	users       int // guarded by hub.mu; of a large one: its group and the streams that send it
}

// encode returns the events since a revision. Only the last event of a Rev has its id, so
// a client that has lost the connection in between gets all of them again.
func encode(db *database.DB, t Topic, rev storage.Rev) (*batch, error) {
	revisions, ok, _ := db.Since(rev)
	if !ok {
		snap := db.Snapshot()
		data, err := encodeReset(db, t, snap)
		return &batch{until: snap.Rev() - 1, rev: snap.Rev(), data: data}, err
	}
	out := &batch{from: rev, until: rev, rev: rev}
	events := make([][]Event, len(revisions))
	for i, r := range slices.Backward(revisions) {
		var ok bool
		events[i], ok = t.Events(r)
		if !ok {
			data, err := t.AppendState(nil, r.After)
			if err != nil {
				return nil, err
			}
			events[i] = []Event{{"reset", data}}
			out.from, out.until = 0, r.Rev-1
			break // nobody needs what comes before
		}
	}
	for i := 0; i < len(revisions); {
		out.rev = revisions[i].Rev
		var all []Event
		for ; i < len(revisions) && revisions[i].Rev == out.rev; i++ {
			all = append(all, events[i]...)
		}
		for j, e := range all {
			id := ""
			if j == len(all)-1 {
				id = EventID(db.Run(), out.rev)
			}
			out.data = e.append(out.data, id)
		}
	}
	return out, nil
}

// encodeReset returns the event that replaces all that a client has.
func encodeReset(db *database.DB, t Topic, snap *database.Snapshot) ([]byte, error) {
	data, err := t.AppendState(nil, snap)
	if err != nil {
		return nil, err
	}
	return Event{"reset", data}.append(nil, EventID(db.Run(), snap.Rev())), nil
}

// statusEvent says that something has changed that has no revision: see Hubs.Status.
var statusEvent = Event{"status", []byte("{}")}.append(nil, "")

// fileEvent returns the event that the file cannot be read, or with "" that it
// can be read again. It has no id: only the present state counts.
func fileEvent(broken string) []byte {
	if broken == "" {
		return Event{"mended", []byte("{}")}.append(nil, "")
	}
	return Event{"broken", append(rawjson.AppendQuote([]byte(`{"detail":`), broken), '}')}.append(nil, "")
}

// changeOf returns the event about one element or, with an empty id, about a whole
// collection or object. record is its value now, nil if it is deleted, as q shows it.
func changeOf(op database.Op, collection, id string, by database.Origin, q *query.Query, record jsontext.Value) Event {
	b := rawjson.AppendQuote([]byte(`{"collection":`), collection)
	if id != "" {
		b = rawjson.AppendQuote(append(b, `,"id":`...), id)
	}
	if record != nil {
		b = appendProjected(append(b, `,"record":`...), q, record)
	}
	b = rawjson.AppendQuote(append(b, `,"by":`...), string(by))
	return Event{string(op), append(b, '}')}
}

// appendProjected appends a record as a query without embedding shows it, whole if q is nil.
func appendProjected(b []byte, q *query.Query, v jsontext.Value) []byte {
	if q != nil && q.Projects() && v.Kind() == '{' {
		return q.AppendFields(b, v)
	}
	return append(b, v...)
}

// List is the topic of the records of a collection that a query selects. A collection that is
// not there has none.
type ListTopic struct{ Query *query.Query }

// AppendState implements Topic.
func (t ListTopic) AppendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	b = rawjson.AppendQuote(append(b, `{"collection":`...), t.Query.Collection)
	b = append(b, `,"records":`...)
	result, err := snap.Run(t.Query)
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

// Events implements Topic.
func (t ListTopic) Events(r *database.Revision) (events []Event, ok bool) {
	name := t.Query.Collection
	for _, ch := range r.Changes {
		if ch.Collection != name {
			continue
		}
		if ch.ID == "" {
			return nil, false
		}
		was := ch.Before != nil && t.Query.Match(ch.Before)
		is := ch.After != nil && t.Query.Match(ch.After)
		op, record := database.Updated, ch.After
		switch {
		case !was && !is:
			continue
		case storage.IsPositionKey(ch.ID): // a client could not say which one it is
			return nil, false
		case !was:
			op = database.Created
		case !is:
			op, record = database.Deleted, nil
		}
		events = append(events, changeOf(op, name, ch.ID, r.Origin, t.Query, record))
	}
	return events, r.Counts[name] == 0
}

// Record is the topic of one record or, with an empty id, a singular resource.
type RecordTopic struct {
	Query *query.Query // shows it
	ID    string
}

// value returns what a GET answers, nil if there is nothing.
func (t RecordTopic) value(snap *database.Snapshot) jsontext.Value {
	name := t.Query.Collection
	switch kind, _ := snap.Kind(name); {
	case t.ID == "" && kind == storage.Object:
		v, _ := snap.Value(name) // it is there
		return v
	case t.ID != "" && kind == storage.Array:
		if r, err := snap.Get(name, t.ID); err == nil {
			return r.Value
		}
	}
	return nil
}

// AppendState implements Topic.
func (t RecordTopic) AppendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	v := t.value(snap)
	if v == nil {
		v = jsontext.Value("null")
	}
	return append(appendProjected(append(b, `{"record":`...), t.Query, v), '}'), nil
}

// Events implements Topic.
func (t RecordTopic) Events(r *database.Revision) ([]Event, bool) {
	name := t.Query.Collection
	if !slices.ContainsFunc(r.Changes, func(ch database.Change) bool {
		return ch.Collection == name && (ch.ID == t.ID || ch.ID == "")
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
	return []Event{changeOf(op, name, t.ID, r.Origin, t.Query, after)}, true
}

// Database is the topic of the whole database.
type DatabaseTopic struct{}

// AppendState implements Topic.
func (DatabaseTopic) AppendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	return append(snap.AppendJSON(append(b, `{"db":`...)), '}'), nil
}

// Events implements Topic.
func (DatabaseTopic) Events(r *database.Revision) (events []Event, ok bool) {
	for _, ch := range r.Changes {
		if kind, there := r.After.Kind(ch.Collection); storage.IsPositionKey(ch.ID) || ch.ID == "" && there && kind == storage.Array {
			return nil, false
		}
		events = append(events, changeOf(ch.Op, ch.Collection, ch.ID, r.Origin, nil, ch.After))
	}
	return events, r.Counts == nil
}

// placeLine returns the line by which a client knows its place without an event.
func placeLine(run string, rev storage.Rev) []byte {
	return []byte("id: " + EventID(run, rev) + "\n\n")
}

// Exists reports whether a GET finds what a topic is about.
func Exists(t Topic, snap *database.Snapshot) bool {
	r, ok := t.(RecordTopic)
	return !ok || r.value(snap) != nil
}

// Changes is the topic of the revisions of a database.
type ChangesTopic struct {
	Run      string
	Values   bool // with before and after
	Most     int  // changes of a revision that are listed; -1: all
	Streams  bool // with the event status when streams open or close
	Requests bool // with the requests of clients
}

// AppendState implements Topic.
func (t ChangesTopic) AppendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	b = rawjson.AppendQuote(append(b, `{"rev":`...), EventID(t.Run, snap.Rev()))
	return append(b, '}'), nil
}

// Events implements Topic.
func (t ChangesTopic) Events(r *database.Revision) ([]Event, bool) {
	return []Event{{"change", t.AppendRevision(nil, r)}}, true
}

// AppendRevision appends a revision. One with too many changes has their number
// in each collection instead.
func (t ChangesTopic) AppendRevision(b []byte, r *database.Revision) []byte {
	b = rawjson.AppendQuote(append(b, `{"rev":`...), EventID(t.Run, r.Rev))
	b = append(r.Time.UTC().AppendFormat(append(b, `,"at":"`...), time.RFC3339Nano), '"')
	b = rawjson.AppendQuote(append(b, `,"by":`...), string(r.Origin))
	if r.Request != "" {
		b = rawjson.AppendQuote(append(b, `,"request":`...), r.Request)
	}
	if r.Session != "" {
		b = rawjson.AppendQuote(append(b, `,"session":`...), r.Session)
	}
	if r.Undoes != 0 {
		b = rawjson.AppendQuote(append(b, `,"undoes":`...), EventID(t.Run, r.Undoes))
	}
	return append(t.AppendChanges(b, r.Changes, r.Counts), '}')
}

// AppendChanges appends the field changes. With counts, or if there are too many
// changes, it is null, and collections has their number.
func (t ChangesTopic) AppendChanges(b []byte, changes []database.Change, counts map[string]int) []byte {
	if counts == nil && t.Most >= 0 && len(changes) > t.Most {
		counts = make(map[string]int)
		for _, ch := range changes {
			counts[ch.Collection]++
		}
	}
	if counts != nil {
		return append(append(b, `,"changes":null,"collections":`...), bytes.TrimSpace(httpx.Marshal(counts))...)
	}
	b = append(b, `,"changes":[`...)
	for _, ch := range changes {
		b = t.AppendChange(rawjson.AppendComma(b), ch)
	}
	return append(b, ']')
}

// AppendChange appends a change. A whole array, and an element without an id of
// its own, has no id. Without an op only the element is named.
func (t ChangesTopic) AppendChange(b []byte, ch database.Change) []byte {
	b = rawjson.AppendQuote(append(b, `{"collection":`...), ch.Collection)
	if ch.ID != "" && !storage.IsPositionKey(ch.ID) {
		b = rawjson.AppendQuote(append(b, `,"id":`...), ch.ID)
	}
	if ch.Op != "" {
		b = rawjson.AppendQuote(append(b, `,"op":`...), string(ch.Op))
	}
	if !t.Values {
		return append(b, '}')
	}
	before, after, records := ch.Values()
	if before != nil {
		b = append(append(b, `,"before":`...), before...)
	}
	if after != nil {
		b = append(append(b, `,"after":`...), after...)
	}
	if records > 0 {
		b = strconv.AppendInt(append(b, `,"records":`...), int64(records), 10)
	}
	return append(b, '}')
}

// encodeRequests returns the events of the requests after the one with a number, and the
// number of the latest. They have no ids: the ids of the stream are revisions. If those
// since the number are not known, there is one event with all requests.
func encodeRequests(log *requestlog.Log, number uint64) (b []byte, last uint64) {
	list, last, whole := log.Since(number)
	if whole {
		slices.Reverse(list)
		return Event{"requests", bytes.TrimSpace(httpx.Marshal(map[string]any{"requests": list}))}.append(nil, ""), last
	}
	for _, r := range list {
		b = Event{"request", bytes.TrimSpace(httpx.Marshal(r))}.append(b, "")
	}
	return b, last
}
