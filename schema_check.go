package pickup

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file judge one record or object. Values are compact
// and have canonical names; so have the pointers of the faults, which are
// sorted.

// maxFaults is how many faults of one body are told, so that a body of a few
// megabytes is not answered with some hundred.
const maxFaults = 100

// most returns the faults that are told.
func most(faults []Fault) []Fault {
	if len(faults) <= maxFaults {
		return faults
	}
	return append(faults[:maxFaults:maxFaults], Fault{Detail: fmt.Sprintf("%d more faults are not listed", len(faults)-maxFaults)})
}

// checkCreate judges a new record.
func (s *Schema) checkCreate(collection string, value jsontext.Value) []Fault {
	r := s.of(collection)
	if r == nil || !r.array {
		return nil
	}
	found := r.findSent(s.at, value)
	for _, name := range r.onCreate {
		missing := func(f finding) bool { return f.Pointer == pointer(name) }
		if _, ok := member(value, name); !ok && !slices.ContainsFunc(found, missing) {
			found = append(found, finding{Fault{pointer(name), name + " is missing but required of a new record" + example(r.shape.members[name].parts[0])}, ""})
		}
	}
	return most(r.withoutID(tidy(found)))
}

// checkReplace judges a record as a whole.
func (s *Schema) checkReplace(collection string, value jsontext.Value) []Fault {
	r := s.of(collection)
	if r == nil || !r.array {
		return nil
	}
	return most(r.withoutID(tidy(r.findSent(s.at, value))))
}

// checkMerge judges a record by what was sent of it: the members of after
// called sent, and what is wrong with after that was not wrong with before.
func (s *Schema) checkMerge(collection string, before, after jsontext.Value, sent []string) []Fault {
	r := s.of(collection)
	if r == nil || !r.array {
		return nil
	}
	return most(r.withoutID(r.judgeSent(s.at, before, after, sent)))
}

// checkObject judges a singular resource as checkMerge does a record, or as a
// whole where sent is nil.
func (s *Schema) checkObject(name string, before, after jsontext.Value, sent []string) []Fault {
	r := s.of(name)
	switch {
	case r == nil || r.array:
		return nil
	case sent == nil:
		return most(tidy(r.findSent(s.at, after)))
	}
	return most(r.judgeSent(s.at, before, after, sent))
}

// find returns everything that is wrong with a record that is stored.
func (r *rules) find(at locations, value jsontext.Value) []finding {
	var found []finding
	for _, sch := range r.record {
		found = append(found, at.find(sch, value)...)
	}
	return r.shape.slips(value, "", found)
}

// findSent returns everything that is wrong with a record that is sent.
func (r *rules) findSent(at locations, value jsontext.Value) []finding {
	found := r.find(at, value)
	if r.historic {
		found = r.shape.historic(value, "", found)
	}
	return found
}

// judge returns the faults that find finds, tidy.
func (r *rules) judge(at locations, value jsontext.Value) []Fault {
	return tidy(r.find(at, value))
}

// judgeSent returns what is wrong with the members of after that were sent,
// and of the rest what was not wrong with before: a rule over several members
// may be broken by one of them.
func (r *rules) judgeSent(at locations, before, after jsontext.Value, sent []string) []Fault {
	names := make(map[string]bool)
	for _, name := range sent {
		if canonical, ok := r.alias[name]; ok {
			name = canonical
		}
		names[name] = true
	}
	var found, rest []finding
	for _, f := range r.findSent(at, after) {
		if t := tokens(f.Pointer); len(t) > 0 && names[t[0]] {
			found = append(found, f)
		} else {
			rest = append(rest, f)
		}
	}
	if len(rest) > 0 {
		type broken struct{ pointer, rule string }
		old := make(map[broken]bool)
		for _, f := range r.findSent(at, before) {
			old[broken{f.Pointer, f.rule}] = true
		}
		for _, f := range rest {
			if !old[broken{f.Pointer, f.rule}] {
				found = append(found, f)
			}
		}
	}
	return tidy(found)
}

// withoutID drops what is said of an id that the service takes care of.
func (r *rules) withoutID(faults []Fault) []Fault {
	if !r.readOnlyID() {
		return faults
	}
	return slices.DeleteFunc(faults, func(f Fault) bool {
		t := tokens(f.Pointer)
		return len(t) > 0 && t[0] == cmp.Or(r.idMember, defaultIDMember)
	})
}

// Respelled returns the pointers into a hand-edited file that lead to the same
// place as pointer, one of Check's, under the other names that the record's
// member may have there.
func (s *Schema) Respelled(pointer string) []string {
	t := tokens(pointer)
	if len(t) == 0 {
		return nil
	}
	r, member := s.of(t[0]), 1
	if r == nil {
		return nil
	}
	if r.array {
		member = 2
	}
	if len(t) <= member {
		return nil
	}
	var all []string
	for _, name := range aliasesOf(t[member], r.alias) {
		other := slices.Clone(t)
		other[member] = name
		all = append(all, joined(other))
	}
	return all
}
