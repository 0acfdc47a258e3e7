package pickup

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Check returns everything in the database that breaks a rule: what hand edits
// put there. Pointers lead into db.json and use the names that the schema gives
// the members. References that lead nowhere are among the faults, and of equal
// values that are to be unique all but the first.
func (s *Snapshot) Check() []Fault {
	if s.schema == nil {
		return nil
	}
	faults := s.schema.CheckNames(s.Names())
	whole := s.schema.Whole()
	if whole {
		faults = append(faults, s.schema.CheckWhole(s.AppendJSON(nil))...)
	}
	for _, c := range s.list {
		if r := s.schema.Member(c.name); r != nil {
			faults = append(faults, under(pointer(c.name), s.checkMember(c, r, whole))...)
		}
	}
	return faults
}

// checkMember judges one top-level member. With judged the validator has seen
// it, so only our own rules are left.
func (s *Snapshot) checkMember(c *collection, r *Rules, judged bool) []Fault {
	var faults []Fault
	array := c.kind == Array
	if !judged && (!array || !r.Apart()) {
		v := jsontext.Value("[]") // the wrong type, whatever is in it
		if !array || r.Array() {
			v = c.appendJSON(nil)
		}
		faults, judged = r.CheckMember(v), true
	}
	switch {
	case array != r.Array():
		return faults
	case c.kind == Object:
		return append(append(faults, r.CheckRecord(c.value, true)...), s.dangling(r, c.value)...)
	}
	held := make(map[string]string)
	i := 0
	for record := range s.All(c.name) {
		of := append(r.CheckRecord(record.Value, judged), s.dangling(r, record.Value)...)
		faults = append(faults, under(fmt.Sprintf("/%d", i), of)...)
		faults = append(faults, doubles(r, i, record.Value, held)...)
		i++
	}
	return faults
}

// dangling returns the references of a record that lead nowhere.
func (s *Snapshot) dangling(r *Rules, value jsontext.Value) []Fault {
	var faults []Fault
	for _, ref := range r.References() {
		follow := func(at string, v jsontext.Value) {
			id := string(v)
			switch v.Kind() {
			case '"':
				id = text(v)
			case '0':
			default:
				return
			}
			if _, err := s.Get(ref.Collection, id); err != nil {
				faults = append(faults, Fault{at, fmt.Sprintf("%s is the id of no record in %s", shown(v), ref.Collection)})
			}
		}
		v, _ := member(value, ref.Member)
		follow(pointer(ref.Member), v)
		i := 0
		elements(v, func(e jsontext.Value) bool {
			follow(fmt.Sprintf("%s/%d", pointer(ref.Member), i), e)
			i++
			return true
		})
	}
	return faults
}

// doubles returns a fault for each member of element i whose value is to be
// unique and which an earlier element has. held remembers where values stand,
// by member and identity key.
func doubles(r *Rules, i int, value jsontext.Value, held map[string]string) []Fault {
	var faults []Fault
	for _, name := range r.Unique() {
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
