package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// A shape describes the fields that schemas allow in a value, at every depth.
type shape struct {
	parts    []*jsonschema.Schema
	members  map[string]*shape
	names    []string // of fields, sorted, then aliases
	defaults []string // the fields with a default, sorted
	free     bool     // names are data, so an unknown name is not a misspelling
	items    *shape   // nil if nothing is known about elements
}

// A shaper makes shapes. Schemas may be recursive, so shapes may be too.
type shaper struct {
	branches bool // include branches of the schemas, such as anyOf
	made     map[string]*shape
}

// of returns the shape of a value with all the schemas.
func (m *shaper) of(schemas ...*jsonschema.Schema) *shape {
	parts := gather(m.branches, schemas...)
	var key strings.Builder
	for _, p := range parts {
		key.WriteString(p.Location + "\n")
	}
	if s := m.made[key.String()]; s != nil {
		return s
	}
	s := &shape{parts: parts, members: make(map[string]*shape)}
	m.made[key.String()] = s

	inside := make(map[string][]*jsonschema.Schema)
	var items []*jsonschema.Schema
	for _, p := range parts {
		for name, sch := range p.Properties {
			inside[name] = append(inside[name], sch)
		}
		// An object with a rule for all other names is a table whose keys are
		// data. If no other name is allowed, the schema itself reports it.
		_, rule := p.AdditionalProperties.(*jsonschema.Schema)
		hasPatterns := len(p.PatternProperties) > 0
		isClosed := p.AdditionalProperties == false || p.UnevaluatedProperties != nil
		s.free = s.free || rule || hasPatterns || isClosed
		items = append(items, itemsOf(p)...)
	}
	var other []string
	for _, name := range slices.Sorted(maps.Keys(inside)) {
		s.members[name] = m.of(inside[name]...)
		s.names = append(s.names, name)
		if s.members[name].value() != nil {
			s.defaults = append(s.defaults, name)
		}
		for _, p := range s.members[name].parts {
			other = append(other, extensionsOf(p).alias...)
		}
	}
	s.names = append(s.names, other...)
	if len(items) > 0 {
		s.items = m.of(items...)
	}
	return s
}

// gather returns the schemas and all schemas that they apply to the same value, each once,
// sorted by location. branches includes schemas that apply only sometimes.
func gather(branches bool, schemas ...*jsonschema.Schema) []*jsonschema.Schema {
	seen := make(map[*jsonschema.Schema]bool)
	var parts []*jsonschema.Schema
	var add func(list ...*jsonschema.Schema)
	add = func(list ...*jsonschema.Schema) {
		for _, s := range list {
			if s == nil || seen[s] {
				continue
			}
			seen[s] = true
			parts = append(parts, s)
			add(s.Ref, s.RecursiveRef)
			add(s.AllOf...)
			if s.DynamicRef != nil {
				add(s.DynamicRef.Ref)
			}
			if branches {
				add(s.AnyOf...)
				add(s.OneOf...)
				add(s.Then, s.Else)
				add(slices.Collect(maps.Values(s.DependentSchemas))...)
			}
		}
	}
	add(schemas...)
	slices.SortFunc(parts, func(a, b *jsonschema.Schema) int { return cmp.Compare(a.Location, b.Location) })
	return parts
}

// itemsOf returns the schemas for the elements of an array, in any draft.
func itemsOf(s *jsonschema.Schema) []*jsonschema.Schema {
	if s.Items2020 != nil {
		return []*jsonschema.Schema{s.Items2020}
	}
	if one, ok := s.Items.(*jsonschema.Schema); ok {
		return []*jsonschema.Schema{one}
	}
	return nil
}

// find appends a fault for each field of v, at any depth, with a name that is probably
// misspelled, and for each historic value if v was sent. at is the pointer of v.
func (s *shape) find(v jsontext.Value, at string, sent bool, found []ruleFault) []ruleFault {
	if s == nil {
		return found
	}
	if sent {
		found = s.findHistoric(v, at, found)
	}
	if s.items != nil {
		i := 0
		for e := range rawjson.Elements(v) {
			found = s.items.find(e, fmt.Sprintf("%s/%d", at, i), sent, found)
			i++
		}
	}
	for name, e := range rawjson.Fields(v) {
		if inside, known := s.members[name]; known {
			if k := e.Kind(); sent || k == '{' || k == '[' {
				found = inside.find(e, at+rawjson.Pointer(name), sent, found)
			}
			continue
		}
		if s.free || slices.Contains(s.names, name) { // an alias
			continue
		}
		if near := spell.NearName(name, s.names); near != "" {
			f := Fault{Pointer: at + rawjson.Pointer(name), Detail: rawjson.Shorten(name) + " is not a known field"}
			found = append(found, ruleFault{f.Meaning(near, near), "misspelled"})
		}
	}
	return found
}

// findHistoric appends a fault for each schema in which v is a historic value.
func (s *shape) findHistoric(v jsontext.Value, at string, found []ruleFault) []ruleFault {
	for _, part := range s.parts {
		x := extensionsOf(part)
		if len(x.historic) > 0 && x.historic[rawjson.Identity(v)] {
			f := notOneOf(at, rawjson.Show(v), plain(v), x.current(part.Enum.Values))
			found = append(found, ruleFault{f, "historic"})
		}
	}
	return found
}

// at returns the shape of the field or element at a path, or nil if nothing is known about it.
func (s *shape) at(path []string) *shape {
	for _, name := range path {
		switch {
		case s == nil:
			return nil
		case s.members[name] != nil:
			s = s.members[name]
		case rawjson.IsIndex(name):
			s = s.items
		default:
			return nil
		}
	}
	return s
}
