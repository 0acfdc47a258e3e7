package live

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"time"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/requestlog"
)

// Changes is the topic of the revisions of a database.
type Changes struct {
	Run      string
	Values   bool // with before and after
	Most     int  // changes of a revision that are listed; -1: all
	Streams  bool // with the event status when streams open or close
	Requests bool // with the requests of clients
}

// AppendState implements Topic.
func (t Changes) AppendState(b []byte, snap *database.Snapshot) ([]byte, error) {
	b = rawjson.AppendQuote(append(b, `{"rev":`...), EventID(t.Run, snap.Rev()))
	return append(b, '}'), nil
}

// Events implements Topic.
func (t Changes) Events(r *database.Revision) ([]Event, bool) {
	return []Event{{"change", t.AppendRevision(nil, r)}}, true
}

// AppendRevision appends a revision. One with too many changes has their number
// in each collection instead.
func (t Changes) AppendRevision(b []byte, r *database.Revision) []byte {
	b = rawjson.AppendQuote(append(b, `{"rev":`...), EventID(t.Run, r.Rev))
	b = append(r.Time.UTC().AppendFormat(append(b, `,"at":"`...), time.RFC3339Nano), '"')
	b = rawjson.AppendQuote(append(b, `,"by":`...), string(r.Source))
	if r.Request != "" {
		b = rawjson.AppendQuote(append(b, `,"request":`...), r.Request)
	}
	if r.Undoes != 0 {
		b = rawjson.AppendQuote(append(b, `,"undoes":`...), EventID(t.Run, r.Undoes))
	}
	return append(t.AppendChanges(b, r.Changes, r.Counts), '}')
}

// AppendChanges appends the member changes. With counts, or if there are too many
// changes, it is null, and collections has their number.
func (t Changes) AppendChanges(b []byte, changes []database.Change, counts map[string]int) []byte {
	if counts == nil && t.Most >= 0 && len(changes) > t.Most {
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
		b = t.AppendChange(rawjson.AppendComma(b), ch)
	}
	return append(b, ']')
}

// AppendChange appends a change. A whole array, and an element without an id of
// its own, has no id. Without an op only the element is named.
func (t Changes) AppendChange(b []byte, ch database.Change) []byte {
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

// appendCounts appends an object with the names in their order.
func appendCounts(b []byte, counts map[string]int) []byte {
	b = append(b, '{')
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		b = strconv.AppendInt(append(rawjson.AppendQuote(rawjson.AppendComma(b), name), ':'), int64(counts[name]), 10)
	}
	return append(b, '}')
}

// requestFrames returns the events of the requests after the one with a number, and the
// number of the latest. They have no ids: the ids of the stream are revisions. If all is
// set, or those since the number are not known, there is one event with all requests.
func requestFrames(log *requestlog.Log, number uint64, all bool) (frames []frame, last uint64) {
	if all {
		number = 0
	}
	list, last, whole := log.Since(number)
	if all || whole {
		newest := append([]*requestlog.Request{}, list...)
		slices.Reverse(newest)
		data := bytes.TrimSpace(httpx.Marshal(map[string]any{"requests": newest}))
		return []frame{{number: last, data: Event{"requests", data}.append(nil, "")}}, last
	}
	for _, r := range list {
		frames = append(frames, frame{number: r.Number(), data: Event{"request", bytes.TrimSpace(httpx.Marshal(r))}.append(nil, "")})
	}
	return frames, last
}
