package pickup

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

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
