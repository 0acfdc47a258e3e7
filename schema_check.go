package pickup

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
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

// Check returns everything in a database that breaks a rule: what hand edits
// put there. Pointers lead into db.json and use the names that the schema gives
// the members. References that lead nowhere are among the faults, and of equal
// values that are to be unique all but the first.
func (s *Schema) Check(snap *Snapshot) []Fault {
	if s == nil {
		return nil
	}
	var faults []Fault
	for _, part := range gather([]*jsonschema.Schema{s.root}, false) {
		for _, name := range part.Required {
			if _, ok := snap.Kind(name); !ok {
				faults = append(faults, Fault{pointer(name), name + " is missing but required"})
			}
		}
	}
	plain := true
	for _, part := range s.shape.parts {
		plain = plain && extrasOf(part).bare
	}
	if !plain {
		// The root says something of all its members at once: only the whole
		// can be judged, in memory.
		faults = append(faults, s.at.judge(s.root, snap.AppendJSON(nil))...)
	}
	for _, name := range snap.Names() {
		if r := s.of(name); r != nil {
			faults = append(faults, under(pointer(name), s.checkMember(snap, name, r, !plain))...)
		} else if near := nearName(name, s.names); near != "" && !s.shape.free {
			faults = append(faults, Fault{pointer(name), fmt.Sprintf("%s is not known; did you mean %s?", shorten(name), near)})
		}
	}
	return faults
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

// checkMember judges one top-level member. With judged the validator has seen
// it, so only our own rules are left.
func (s *Schema) checkMember(snap *Snapshot, name string, r *rules, judged bool) []Fault {
	var found []finding
	kind, _ := snap.Kind(name)
	if array := kind == Array; !judged && (!array || !r.array || !r.plain) {
		v := jsontext.Value("[]") // the wrong type, whatever is in it
		if !array {
			v, _ = snap.Value(name)
		} else if r.array {
			v = snap.byName[name].appendJSON(nil)
		}
		found, judged = s.at.find(r.whole, v), true
	}
	switch {
	case kind == Array != r.array:
		return tidy(found)
	case kind == Object:
		v, _ := snap.Value(name)
		return append(tidy(r.shape.slips(v, "", found)), r.dangling(snap, v)...)
	}
	faults := tidy(found)
	held := make(map[string]string)
	i := 0
	for record := range snap.All(name) {
		faults = append(faults, under(fmt.Sprintf("/%d", i), s.checkRecord(snap, name, r, record.Value, judged))...)
		faults = append(faults, r.doubles(i, record.Value, held)...)
		i++
	}
	return faults
}

// checkRecord judges an element of a collection, but for what is to be unique.
func (s *Schema) checkRecord(snap *Snapshot, name string, r *rules, value jsontext.Value, judged bool) []Fault {
	_, _, faults := s.canonical(name, value)
	if !judged {
		faults = append(faults, r.judge(s.at, value)...)
	} else {
		faults = append(faults, tidy(r.shape.slips(value, "", nil))...)
	}
	return append(faults, r.dangling(snap, value)...)
}

// dangling returns the references of a record that lead nowhere.
func (r *rules) dangling(snap *Snapshot, value jsontext.Value) []Fault {
	var faults []Fault
	for _, ref := range r.refs {
		follow := func(at string, v jsontext.Value) {
			id := string(v)
			switch v.Kind() {
			case '"':
				id = text(v)
			case '0':
			default:
				return
			}
			if _, err := snap.Get(ref.collection, id); err != nil {
				faults = append(faults, Fault{at, fmt.Sprintf("%s is the id of no record in %s", shown(v), ref.collection)})
			}
		}
		v, _ := member(value, ref.member)
		follow(pointer(ref.member), v)
		i := 0
		elements(v, func(e jsontext.Value) bool {
			follow(fmt.Sprintf("%s/%d", pointer(ref.member), i), e)
			i++
			return true
		})
	}
	return faults
}

// doubles returns a fault for each member of element i whose value is to be
// unique and which an earlier element has. held remembers where values stand,
// by member and identity key.
func (r *rules) doubles(i int, value jsontext.Value, held map[string]string) []Fault {
	var faults []Fault
	for _, name := range r.unique {
		v, ok := member(value, name)
		if !ok || v.Kind() == 'n' {
			continue
		}
		at := fmt.Sprintf("/%d%s", i, pointer(name))
		key := name + "\x00" + identityKey(v)
		if first, taken := held[key]; taken {
			faults = append(faults, Fault{at, fmt.Sprintf("%s is to be unique, but element %s has it too", shown(v), tokens(first)[0])})
		} else {
			held[key] = at
		}
	}
	return faults
}

// under leads pointers into a value to where it stands.
func under(at string, faults []Fault) []Fault {
	for i := range faults {
		faults[i].Pointer = at + faults[i].Pointer
	}
	return faults
}
