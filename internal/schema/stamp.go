package schema

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
)

// A Stamp is a field with the time of a write (x-now).
type Stamp struct {
	Member   string
	Updates  bool // the time of the latest write; otherwise of the creation
	ReadOnly bool // a client cannot set it

	layout string
}

// The values of x-now.
const (
	onCreate = "create"
	onUpdate = "update"
)

// layouts are the layouts of times as JSON, the best first. "" is an integer in milliseconds.
var layouts = []string{`"2006-01-02T15:04:05.000Z"`, `"2006-01-02T15:04:05Z"`, ""}

// Text returns a time as JSON text, in the form that the schema allows.
func (s Stamp) Text(t time.Time) string {
	if s.layout == "" {
		return fmt.Sprint(t.UnixMilli())
	}
	return t.UTC().Format(s.layout)
}

func (r *Rules) isStamp(name string) bool {
	return slices.ContainsFunc(r.Stamps, func(s Stamp) bool { return s.Member == name })
}

// readStamp reads x-now from the parts of the schema of a field.
func (r *Rules) readStamp(name string, parts []*jsonschema.Schema) *schemaMistake {
	i := slices.IndexFunc(parts, func(part *jsonschema.Schema) bool { return extensionsOf(part).now != "" })
	if i < 0 {
		return nil
	}
	x := extensionsOf(parts[i])
	s := Stamp{Member: name, Updates: x.now == onUpdate, ReadOnly: slices.Contains(r.readOnly, name)}
	if r.Array && name == r.idMember() {
		return &schemaMistake{x.pointer + "/x-now", "the id cannot be changed, so it cannot be a time"}
	}
	example := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	for _, s.layout = range layouts {
		if r.allows(name, jsontext.Value(s.Text(example))) {
			r.Stamps = append(r.Stamps, s)
			return nil
		}
	}
	reason := fmt.Sprintf("x-now writes a time such as %s or %s, and the rules of %s allow neither",
		example.Format(layouts[0]), s.Text(example), name)
	return &schemaMistake{x.pointer + "/x-now", reason}
}

// allows reports whether the rules of a field allow the value.
func (r *Rules) allows(member string, value jsontext.Value) bool {
	describing, _ := r.describing(member)
	refuses := func(sch *jsonschema.Schema) bool { return sch.Validate(plain(value)) != nil }
	return !slices.ContainsFunc(describing, refuses)
}

// Stamp returns value, which replaces old, with the times that the service writes (x-now). old is
// nil for a new record. A time from the client stays, unless the field is readOnly. If nothing
// else changes, the times stay. Stamp does not change the id.
func (r *Rules) Stamp(now func() time.Time, old, value jsontext.Value) jsontext.Value {
	if len(r.Stamps) == 0 {
		return value
	}
	var due []Stamp
	for _, s := range r.Stamps {
		stored, had := rawjson.Member(old, s.Member)
		sent, has := rawjson.Member(value, s.Member)
		chosen := has && sent.Kind() != 'n' && !(had && rawjson.Equal(stored, sent))
		switch {
		case s.Member == r.idMember(), chosen && !s.ReadOnly:
			continue
		case had:
			value = setMember(value, s.Member, string(stored))
		case has:
			value = rawjson.MergePatch(value, rawjson.SetMember(jsontext.Value("{}"), s.Member, "null"))
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

// setMember returns the compact object v with a field set: in place if v has the field,
// otherwise as the last field.
func setMember(v jsontext.Value, name, value string) jsontext.Value {
	return rawjson.MergeMembers(v, append(rawjson.AppendMember([]byte("{"), name, []byte(value)), '}'))
}
