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

// maxFaults is the maximum number of faults in the response to one request.
const maxFaults = 100

// limitFaults returns the first maxFaults faults, and the number of the others as a fault.
func limitFaults(faults []Fault) []Fault {
	more := len(faults) - maxFaults
	if more <= 0 {
		return faults
	}
	return append(faults[:maxFaults:maxFaults], Fault{Detail: fmt.Sprintf("%d more errors are not listed", more)})
}

// ForRecord returns r, or no rules if r does not describe a collection.
func (r *Rules) ForRecord() *Rules {
	if r.Array {
		return r
	}
	return noRules
}

// ForObject returns r, or no rules if r describes a collection.
func (r *Rules) ForObject() *Rules {
	if r.Array {
		return noRules
	}
	return r
}

// Check returns the faults of after, a record or a singular resource that replaces before, or is
// new if before is nil. If sent is not nil, it lists the changed fields: Check leaves out faults
// of other fields that before already had.
func (r *Rules) Check(before, after jsontext.Value, sent []string) []Fault {
	found := r.find(after, true)
	if before == nil {
		found = r.requireOnCreate(after, found)
	} else if sent != nil {
		found = r.newFaults(found, before, sent)
	}
	return limitFaults(r.withoutOwn(before, after, tidy(found)))
}

// requireOnCreate adds the missing fields of a new record (x-required-on-create).
func (r *Rules) requireOnCreate(value jsontext.Value, found []ruleFault) []ruleFault {
	for _, name := range r.RequiredOnCreate {
		pointer := rawjson.Pointer(name)
		_, present := rawjson.Member(value, name)
		if present || slices.ContainsFunc(found, func(f ruleFault) bool { return f.Pointer == pointer }) {
			continue
		}
		detail := name + " is required in a new record" + example(r.shape.members[name].parts[0])
		found = append(found, ruleFault{Fault{Pointer: pointer, Detail: detail}, ""})
	}
	return found
}

// find returns all faults of a record. Only a stored record, not a sent one, may have
// historic values.
func (r *Rules) find(value jsontext.Value, sent bool) []ruleFault {
	var found []ruleFault
	if r.whole == nil { // see Nested
		return nil
	}
	for _, sch := range r.record {
		found = append(found, r.at.find(sch, value)...)
	}
	return r.shape.find(value, "", sent && r.historic, found)
}

// newFaults returns the faults of the sent fields, and the faults of other fields that before
// does not have: a change of one field may break a rule over several fields.
func (r *Rules) newFaults(found []ruleFault, before jsontext.Value, sent []string) []ruleFault {
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

// withoutOwn drops the faults of ids that the service makes, and of unchanged times (x-now).
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
// file, because of aliases.
func (s *Schema) Respelled(pointer string) []string {
	t := rawjson.SplitPointer(pointer)
	if len(t) == 0 {
		return nil
	}
	r := s.Member(t[0])
	member := 1 // index in t of the name of a field
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

// declaration is the top-level field with the name of the schema file. Editors and pickup use
// it, and no rule applies to it.
const declaration = "$schema"

// CheckNames returns the faults in the names of the top-level fields of a database.
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
			f := Fault{Pointer: rawjson.Pointer(name), Detail: rawjson.Shorten(name) + " is not known"}
			faults = append(faults, f.Meaning(near, near))
		}
	}
	return faults
}

// Whole reports whether the root has rules over several fields, which
// CheckWhole applies.
func (s *Schema) Whole() bool {
	hasRules := func(part *jsonschema.Schema) bool { return !extensionsOf(part).bare }
	return s != nil && slices.ContainsFunc(s.shape.parts, hasRules)
}

// CheckWhole returns the faults of a whole database by the keywords of JSON Schema alone.
func (s *Schema) CheckWhole(database jsontext.Value) []Fault {
	if _, ok := rawjson.Member(database, declaration); ok {
		database = rawjson.MergePatch(database, jsontext.Value(`{"`+declaration+`":null}`))
	}
	faults := tidy(s.at.find(s.root, database))
	// The schema may require the declaration.
	return slices.DeleteFunc(faults, func(f Fault) bool { return f.Pointer == "/"+declaration })
}

// Apart reports whether there are rules for the elements of a list, but none for the list.
func (r *Rules) Apart() bool { return r.Array && r.plain }

// CheckMember returns the faults of a top-level field as a whole.
func (r *Rules) CheckMember(value jsontext.Value) []Fault {
	if r.whole == nil {
		return nil
	}
	return tidy(r.at.find(r.whole, value))
}

// CheckRecord returns the faults of a stored record or singular resource, except for uniqueness
// and references. If validated is set, the caller has checked the keywords of JSON Schema, and
// CheckRecord applies only the rules of pickup.
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
		value = jsontext.Value("[]") // the elements do not matter
	}
	return limitFaults(r.CheckMember(value))
}

// Knows reports whether the rules describe the value at a path of a record.
func (r *Rules) Knows(path []string) bool { return r.shape.at(path) != nil }

// IsList reports whether the rules describe the elements of a record's field.
func (r *Rules) IsList(member string) bool {
	return r.shape != nil && r.shape.members[member] != nil && r.shape.members[member].items != nil
}
