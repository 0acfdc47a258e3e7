package live

import (
	"bytes"
	"errors"
	"fmt"
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

// A Topic selects the events of a stream. A Topic never changes.
type Topic interface {
	// AppendState appends the state in a snapshot, the data of the event reset.
	AppendState(b []byte, snap *database.Snapshot) ([]byte, error)

	// Events returns the events of a revision. It reports false if events cannot express the
	// revision, and the client needs a reset.
	Events(r *database.Revision) ([]Event, bool)
}

// An Event is a server-sent event (HTML Standard section 9.2) without id.
type Event struct {
	name string
	data []byte // compact JSON, without line breaks
}

func (e Event) append(b []byte, id string) []byte {
	return append(append(appendHead(b, e.name, id), e.data...), "\n\n"...)
}

// appendHead appends the lines of an event before its data. No id if id is "".
func appendHead(b []byte, name, id string) []byte {
	b = append(append(b, "event: "...), name...)
	if id != "" {
		b = append(append(b, "\nid: "...), id...)
	}
	return append(b, "\ndata: "...)
}

// EventID returns the id of the state at a revision.
func EventID(run string, rev storage.Rev) string {
	return run + "-" + strconv.FormatUint(uint64(rev), 10)
}

// A batch has the events that lead from any of several states to a later state.
type batch struct {
	from, until storage.Rev // the first and the last of these states
	rev         storage.Rev // the later state
	data        []byte
	users       int // guarded by hub.mu; the group and the streams that use a large batch; 0 if small
}

// encode returns the events since a revision. Only the last event of a Rev has an id. A client
// that loses the connection before the last event receives all events of the Rev again.
func encode(db *database.DB, t Topic, rev storage.Rev) (*batch, error) {
	revisions, ok, _ := db.Since(rev)
	if !ok {
		snap := db.Snapshot()
		data, err := appendReset(nil, t, snap, EventID(db.Run(), snap.Rev()))
		return &batch{until: snap.Rev() - 1, rev: snap.Rev(), data: data}, err
	}
	out := &batch{from: rev, until: rev, rev: rev}
	events := make([][]Event, len(revisions))
	start := 0 // index of the first revision after the reset, if one is needed
	for i, r := range slices.Backward(revisions) {
		events[i], ok = t.Events(r)
		if ok {
			continue
		}
		id := ""
		start = i + 1
		if start == len(revisions) || r.Rev < revisions[start].Rev {
			id = EventID(db.Run(), r.Rev)
		}
		var err error
		out.data, err = appendReset(nil, t, r.After, id)
		if err != nil {
			return nil, err
		}
		out.from = 0
		out.until = r.Rev - 1
		out.rev = r.Rev
		break // the reset replaces all earlier events
	}
	for i := start; i < len(revisions); {
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

// appendReset appends the event that replaces the whole state of a client.
func appendReset(b []byte, t Topic, snap *database.Snapshot, id string) ([]byte, error) {
	b, err := t.AppendState(appendHead(b, "reset", id), snap)
	return append(b, "\n\n"...), err
}

// statusEvent reports a change without a revision: see Hubs.Status.
var statusEvent = Event{"status", []byte("{}")}.append(nil, "")

// fileEvent returns the event about an unreadable file. If broken is "", the file is readable
// again. The event has no id, because only the current state counts.
func fileEvent(broken string) []byte {
	if broken == "" {
		return Event{"mended", []byte("{}")}.append(nil, "")
	}
	return Event{"broken", append(rawjson.AppendQuote([]byte(`{"detail":`), broken), '}')}.append(nil, "")
}

// An element is the data of an event about an element or, without an id, about a whole collection or
// object.
type element struct {
	Collection string          `json:"collection"`
	ID         string          `json:"id,omitempty"`
	Record     jsontext.Value  `json:"record,omitempty"` // the current value; nil: deleted
	By         database.Origin `json:"by"`
}

// changeOf returns the event about an element; q projects the value.
func changeOf(op database.Op, e element, q *query.Query) Event {
	if e.Record != nil {
		e.Record = appendProjected(nil, q, e.Record)
	}
	return Event{string(op), httpx.Marshal(e)}
}

// appendProjected appends the fields of a record that q shows, all fields if q is nil.
func appendProjected(b []byte, q *query.Query, v jsontext.Value) []byte {
	if q != nil && q.Projects() && v.Kind() == '{' {
		return q.AppendFields(b, v)
	}
	return append(b, v...)
}

// A ListTopic selects the records of a query. A missing collection has no records.
type ListTopic struct{ Query *query.Query }

// AppendState implements Topic.
func (t ListTopic) AppendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	b = rawjson.AppendQuote(append(b, `{"collection":`...), t.Query.Collection)
	b = append(b, `,"records":`...)
	result, err := snap.Run(t.Query)
	if errors.Is(err, storage.ErrNotFound) {
		return append(b, "[]}"...), nil
	}
	if err == nil {
		b, err = result.AppendJSON(b)
	}
	if err != nil {
		return nil, err
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
		case storage.IsPositionKey(ch.ID): // a client could not identify the record
			return nil, false
		case !was:
			op = database.Created
		case !is:
			op, record = database.Deleted, nil
		}
		events = append(events, changeOf(op, element{name, ch.ID, record, r.Origin}, t.Query))
	}
	return events, r.Counts[name] == 0
}

// A RecordTopic selects a record or, with an empty ID, a singular resource.
type RecordTopic struct {
	Query *query.Query // projects the record
	ID    string
}

// value returns the record or the resource. It returns nil if the topic has no value in snap.
func (t RecordTopic) value(snap *database.Snapshot) jsontext.Value {
	name := t.Query.Collection
	kind, _ := snap.Kind(name)
	if t.ID == "" && kind != storage.Array {
		v, _ := snap.Value(name)
		return v
	}
	if t.ID != "" && kind == storage.Array {
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
	concerned := func(ch database.Change) bool { return ch.Collection == name && (ch.ID == t.ID || ch.ID == "") }
	if !slices.ContainsFunc(r.Changes, concerned) {
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
	return []Event{changeOf(op, element{name, t.ID, after, r.Origin}, t.Query)}, true
}

// A NestedTopic is a topic of the view of a nested value.
type NestedTopic struct {
	Topic
	Path []string // see database.Nested
}

// view returns the view of snap, or snap, which does not have the field, if there is no such value.
func (t NestedTopic) view(snap *database.Snapshot) *database.Snapshot {
	n, err := snap.Nested(t.Path, false)
	if err != nil {
		return snap
	}
	return n.View
}

// AppendState implements Topic.
func (t NestedTopic) AppendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	return t.Topic.AppendState(b, t.view(snap))
}

// Events implements Topic.
func (t NestedTopic) Events(r *database.Revision) ([]Event, bool) {
	concerned := func(ch database.Change) bool {
		return ch.Collection == t.Path[0] && (ch.ID == "" || ch.ID == t.Path[1])
	}
	if r.Counts[t.Path[0]] == 0 && !slices.ContainsFunc(r.Changes, concerned) {
		return nil, true
	}
	nested, ok := r.Nested(t.Path)
	if !ok {
		return nil, false
	}
	return t.Topic.Events(nested)
}

// A DatabaseTopic selects the whole database.
type DatabaseTopic struct{}

// AppendState implements Topic.
func (DatabaseTopic) AppendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	return append(snap.AppendJSON(append(b, `{"db":`...)), '}'), nil
}

// Events implements Topic.
func (DatabaseTopic) Events(r *database.Revision) (events []Event, ok bool) {
	for _, ch := range r.Changes {
		kind, exists := r.After.Kind(ch.Collection)
		if storage.IsPositionKey(ch.ID) || ch.ID == "" && exists && kind == storage.Array {
			return nil, false
		}
		events = append(events, changeOf(ch.Op, element{ch.Collection, ch.ID, ch.After, r.Origin}, nil))
	}
	return events, r.Counts == nil
}

// idLine returns a line that tells a client the id of the state without an event.
func idLine(run string, rev storage.Rev) []byte {
	return []byte("id: " + EventID(run, rev) + "\n\n")
}

// Exists reports whether the resource of a topic exists.
func Exists(t Topic, snap *database.Snapshot) bool {
	if nested, ok := t.(NestedTopic); ok {
		return Exists(nested.Topic, nested.view(snap))
	}
	r, ok := t.(RecordTopic)
	return !ok || r.value(snap) != nil
}

// A ChangesTopic selects the revisions of a database.
type ChangesTopic struct {
	Run      string
	Values   bool // include the values before and after a change
	Most     int  // maximum number of listed changes of a revision; -1: no maximum
	Streams  bool // send the event status when streams open or close
	Requests bool // send the requests of clients
}

// AppendState implements Topic.
func (t ChangesTopic) AppendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	return fmt.Appendf(b, `{"rev":%q}`, EventID(t.Run, snap.Rev())), nil
}

// Events implements Topic.
func (t ChangesTopic) Events(r *database.Revision) ([]Event, bool) {
	return []Event{{"change", httpx.Marshal(t.Revision(r))}}, true
}

// A Revision is a revision as clients see it.
type Revision struct {
	Rev     string          `json:"rev"`
	At      time.Time       `json:"at"`
	By      database.Origin `json:"by"`
	Request string          `json:"request,omitempty"`
	Session string          `json:"session,omitempty"`
	Undoes  string          `json:"undoes,omitempty"`
	Changes
}

// Changes are the changes of a revision. A revision with too many changes has null, and the number
// of changes in each collection.
type Changes struct {
	Changes     []database.ChangeJSON `json:"changes"`
	Collections map[string]int        `json:"collections,omitempty"`
}

// Revision returns a revision for clients.
func (t ChangesTopic) Revision(r *database.Revision) Revision {
	out := Revision{
		Rev:     EventID(t.Run, r.Rev),
		At:      r.Time.UTC(),
		By:      r.Origin,
		Request: r.Request,
		Session: r.Session,
		Changes: Changes{Collections: r.Counts},
	}
	if r.Undoes != 0 {
		out.Undoes = EventID(t.Run, r.Undoes)
	}
	if r.Counts == nil {
		out.Changes = t.List(r.Changes)
	}
	return out
}

// List returns changes for clients.
func (t ChangesTopic) List(changes []database.Change) Changes {
	if t.Most >= 0 && len(changes) > t.Most {
		counts := make(map[string]int)
		for _, ch := range changes {
			counts[ch.Collection]++
		}
		return Changes{Collections: counts}
	}
	list := make([]database.ChangeJSON, len(changes))
	for i, ch := range changes {
		list[i] = ch.JSON(t.Values)
	}
	return Changes{Changes: list}
}

// encodeRequests returns the events of the requests after a number, and the number of the latest
// request. The events have no ids, because the ids of the stream are revisions. If some of the
// requests are unknown, encodeRequests returns a single event with all requests.
func encodeRequests(log *requestlog.Log, number uint64) (b []byte, last uint64) {
	list, last, whole := log.Since(number)
	if whole {
		slices.Reverse(list)
		return Event{"requests", httpx.Marshal(map[string]any{"requests": list})}.append(nil, ""), last
	}
	for _, r := range list {
		b = Event{"request", httpx.Marshal(r)}.append(b, "")
	}
	return b, last
}
