package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// The functions of this file check one record or object. Values are compact and
// free of aliases. Faults are sorted by pointer.

// maxFaults limits the faults that are reported for one body.
const maxFaults = 100

// most returns the first maxFaults faults and the number of the others.
func most(faults []Fault) []Fault {
	if len(faults) <= maxFaults {
		return faults
	}
	return append(faults[:maxFaults:maxFaults], Fault{Detail: fmt.Sprintf("%d more faults are not listed", len(faults)-maxFaults)})
}

// For returns the rules for a collection or, if array is false, for another field: none
// if they are for the other.
func (r *Rules) For(array bool) *Rules {
	if r.Array != array {
		return noRules
	}
	return r
}

// Check returns what is wrong with after, a record or a singular resource that replaces
// before; nil means that it is new. If sent is not nil, only these fields were sent, and
// the other faults that before had already are left out.
func (r *Rules) Check(before, after jsontext.Value, sent []string) []Fault {
	found := r.find(after, true)
	if before == nil {
		for _, name := range r.RequiredOnCreate {
			missing := func(f ruleFault) bool { return f.Pointer == rawjson.Pointer(name) }
			if _, ok := rawjson.Member(after, name); !ok && !slices.ContainsFunc(found, missing) {
				found = append(found, ruleFault{Fault{Pointer: rawjson.Pointer(name), Detail: name + " is required in a new record" + example(r.shape.members[name].parts[0])}, ""})
			}
		}
	} else if sent != nil {
		found = r.caused(found, before, sent)
	}
	return most(r.withoutOwn(before, after, tidy(found)))
}

// find returns everything that is wrong with a record: a stored one, or with sent
// one in a body.
func (r *Rules) find(value jsontext.Value, sent bool) []ruleFault {
	var found []ruleFault
	for _, sch := range r.record {
		found = append(found, r.at.find(sch, value)...)
	}
	return r.shape.find(value, "", sent && r.historic, found)
}

// caused returns the faults in the fields that were sent, and others that before does not
// have: changing one field may break a rule over several.
func (r *Rules) caused(found []ruleFault, before jsontext.Value, sent []string) []ruleFault {
	names := make(map[string]bool)
	for _, name := range sent {
		names[cmp.Or(r.Aliases[name], name)] = true
	}
	isSent := func(f ruleFault) bool {
		t := rawjson.SplitPointer(f.Pointer)
		return len(t) > 0 && names[t[0]]
	}
	if !slices.ContainsFunc(found, func(f ruleFault) bool { return !isSent(f) }) {
		return found
	}
	type broken struct{ pointer, rule string }
	old := make(map[broken]bool)
	for _, f := range r.find(before, true) {
		old[broken{f.Pointer, f.rule}] = true
	}
	return slices.DeleteFunc(found, func(f ruleFault) bool { return !isSent(f) && old[broken{f.Pointer, f.rule}] })
}

// withoutOwn drops the faults of an id that the service makes, and of times (x-now)
// that are as before.
func (r *Rules) withoutOwn(before, after jsontext.Value, faults []Fault) []Fault {
	return slices.DeleteFunc(faults, func(f Fault) bool {
		t := rawjson.SplitPointer(f.Pointer)
		if len(t) == 0 || !r.isStamp(t[0]) {
			return len(t) > 0 && r.Owns(t[0])
		}
		was, _ := rawjson.Member(before, t[0])
		is, _ := rawjson.Member(after, t[0])
		return before != nil && bytes.Equal(was, is)
	})
}

// Respelled returns the other pointers that the value at pointer may have in the
// file, which may use aliases.
func (s *Schema) Respelled(pointer string) []string {
	t := rawjson.SplitPointer(pointer)
	if len(t) == 0 {
		return nil
	}
	r, member := s.Member(t[0]), 1
	if r.Array {
		member = 2
	}
	if len(t) <= member {
		return nil
	}
	var all []string
	for alias, name := range r.Aliases {
		if name == t[member] {
			other := slices.Clone(t)
			other[member] = alias
			all = append(all, rawjson.Pointer(other...))
		}
	}
	slices.Sort(all)
	return all
}

// declaration is the name of the top-level field that names the file of the schema. It is for
// editors and for pickup, so no rule judges it.
const declaration = "$schema"

// CheckNames returns what is wrong with the names of a database's top-level fields.
func (s *Schema) CheckNames(names []string) []Fault {
	if s == nil {
		return nil
	}
	var faults []Fault
	for _, part := range gather(false, s.root) {
		for _, name := range part.Required {
			if name != declaration && !slices.Contains(names, name) {
				faults = append(faults, Fault{Pointer: rawjson.Pointer(name), Detail: name + " is required"})
			}
		}
	}
	for _, name := range names {
		if name == declaration || s.rules[name] != nil || s.shape.free {
			continue
		}
		if near := spell.NearName(name, s.names); near != "" {
			faults = append(faults, Fault{Pointer: rawjson.Pointer(name), Detail: rawjson.Shorten(name) + " is not known"}.meaning(near, near))
		}
	}
	return faults
}

// Whole reports whether the root has rules over several fields, which
// CheckWhole applies.
func (s *Schema) Whole() bool {
	return s != nil && slices.ContainsFunc(s.shape.parts, func(part *jsonschema.Schema) bool { return !extrasOf(part).bare })
}

// CheckWhole returns what is wrong with a whole database, by the keywords of
// JSON Schema alone.
func (s *Schema) CheckWhole(database jsontext.Value) []Fault {
	if _, ok := rawjson.Member(database, declaration); ok {
		database = rawjson.MergePatch(database, jsontext.Value(`{"`+declaration+`":null}`))
	}
	faults := tidy(s.at.find(s.root, database))
	return slices.DeleteFunc(faults, func(f Fault) bool { return f.Pointer == "/"+declaration }) // that it is required
}

// Apart reports whether the rules of a list concern its elements alone.
func (r *Rules) Apart() bool { return r.Array && r.plain }

// CheckMember returns what is wrong with a top-level field as a whole.
func (r *Rules) CheckMember(value jsontext.Value) []Fault {
	if r.whole == nil {
		return nil
	}
	return tidy(r.at.find(r.whole, value))
}

// CheckRecord returns what is wrong with a stored record or singular resource,
// apart from uniqueness and references. With validated the validator has checked it
// already, and only the rules of pickup are applied.
func (r *Rules) CheckRecord(value jsontext.Value, validated bool) []Fault {
	_, _, faults := r.Canonical(value)
	if validated {
		return append(faults, tidy(r.shape.find(value, "", false, nil))...)
	}
	return append(faults, tidy(r.find(value, false))...)
}

// CheckType returns the fault of a value that is not a list although the rules
// require one, or the reverse.
func (r *Rules) CheckType(value jsontext.Value) []Fault {
	kind := value.Kind()
	if r.Array == (kind == '[') && (kind == '[' || kind == '{') {
		return nil
	}
	if kind == '[' {
		value = jsontext.Value("[]") // its elements do not matter
	}
	return most(r.CheckMember(value))
}

// Knows reports whether the rules describe the value at a path of a record.
func (r *Rules) Knows(path []string) bool { return r.shape.has(path) }

// IsList reports whether the rules describe the elements of a record's field.
func (r *Rules) IsList(member string) bool {
	return r.shape != nil && r.shape.members[member] != nil && r.shape.members[member].items != nil
}
