package database

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/jsonpatch"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
)

// stamp returns value, which replaces old, with the times that the service writes (x-now)
// into other members than the id. old is nil if there was none. A time that the client has
// set stays, unless the member is readOnly. If nothing else changes, the times do not
// either.
func stamp(stamps []schema.Stamp, idMember string, now func() time.Time, old, value jsontext.Value) jsontext.Value {
	if len(stamps) == 0 {
		return value
	}
	var due []schema.Stamp
	for _, s := range stamps {
		stored, had := rawjson.Member(old, s.Member)
		sent, has := rawjson.Member(value, s.Member)
		chosen := has && sent.Kind() != 'n' && !(had && rawjson.Equal(stored, sent))
		switch {
		case s.Member == idMember, chosen && !s.ReadOnly:
			continue
		case had:
			value = setMember(value, s.Member, string(stored))
		case has:
			value = jsonpatch.Merge(value, rawjson.SetMember(jsontext.Value("{}"), s.Member, "null"))
		}
		if s.Updates || old == nil {
			due = append(due, s)
		}
	}
	if old != nil && rawjson.Equal(old, value) {
		return value
	}
	for _, s := range due {
		value = setMember(value, s.Member, s.Text(now()))
	}
	return value
}

// setMember returns the compact object v with a member set: in its place if v has it, or
// else as the last.
func setMember(v jsontext.Value, name, value string) jsontext.Value {
	return rawjson.MergeMembers(v, append(rawjson.AppendMember([]byte("{"), name, []byte(value)), '}'))
}
