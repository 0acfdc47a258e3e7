package database

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Check returns everything in the database that breaks a rule: what hand edits
// put there. Pointers lead into db.json and use the names that the schema gives
// the members. References that lead nowhere are among the faults, and of equal
// values that are to be unique all but the first.
func (s *Snapshot) Check() []schema.Fault {
	if s.schema == nil {
		return nil
	}
	faults := s.schema.CheckNames(s.Names())
	whole := s.schema.Whole()
	if whole {
		faults = append(faults, s.schema.CheckWhole(s.AppendJSON(nil))...)
	}
	for _, c := range s.list {
		faults = append(faults, under(rawjson.Pointer(c.name), s.checkMember(c, s.schema.Member(c.name), whole))...)
	}
	return faults
}

// checkMember checks one top-level member. With judged the validator has checked
// it already.
func (s *Snapshot) checkMember(c *collection, r *schema.Rules, judged bool) []schema.Fault {
	var faults []schema.Fault
	array := c.kind == storage.Array
	if !judged && (!array || !r.Apart()) {
		v := jsontext.Value("[]") // the wrong type, whatever is in it
		if !array || r.Array {
			v = c.appendJSON(nil)
		}
		faults, judged = r.CheckMember(v), true
	}
	switch {
	case array != r.Array:
		return faults
	case c.kind == storage.Object:
		return append(append(faults, r.CheckRecord(c.value, true)...), s.dangling(r, c.value)...)
	}
	held := make(map[string]int)
	for i, record := range c.inOrder() {
		of := append(r.CheckRecord(record.Value, judged), s.dangling(r, record.Value)...)
		faults = append(faults, under(fmt.Sprintf("/%d", i), of)...)
		faults = append(faults, doubles(r, i, record.Value, held)...)
	}
	return faults
}

// dangling returns the references of a record that lead nowhere.
func (s *Snapshot) dangling(r *schema.Rules, value jsontext.Value) []schema.Fault {
	var faults []schema.Fault
	for _, ref := range r.References {
		follow := func(at string, v jsontext.Value) {
			id := string(v)
			switch v.Kind() {
			case '"':
				id = rawjson.Unquote(v)
			case '0':
			default:
				return
			}
			if _, err := s.Get(ref.Collection, id); err != nil {
				faults = append(faults, schema.Fault{Pointer: at, Detail: fmt.Sprintf("%s is the id of no record in %s", rawjson.Show(v), ref.Collection)})
			}
		}
		v, _ := rawjson.Member(value, ref.Member)
		follow(rawjson.Pointer(ref.Member), v)
		i := 0
		for e := range rawjson.Elements(v) {
			follow(fmt.Sprintf("%s/%d", rawjson.Pointer(ref.Member), i), e)
			i++
		}
	}
	return faults
}

// doubles returns a fault for each member of element i whose value is to be
// unique and which an earlier element has. held has the element of each value,
// by member and identity key.
func doubles(r *schema.Rules, i int, value jsontext.Value, held map[string]int) []schema.Fault {
	var faults []schema.Fault
	for _, name := range r.Unique {
		v, ok := rawjson.Member(value, name)
		if !ok || v.Kind() == 'n' {
			continue
		}
		key := name + "\x00" + rawjson.Identity(v)
		if first, taken := held[key]; taken {
			faults = append(faults, schema.Fault{
				Pointer: fmt.Sprintf("/%d%s", i, rawjson.Pointer(name)),
				Detail:  fmt.Sprintf("%s must be unique: element %d has the same value", rawjson.Show(v), first),
			})
		} else {
			held[key] = i
		}
	}
	return faults
}

// under prefixes pointers into a value with the place of the value.
func under(at string, faults []schema.Fault) []schema.Fault {
	for i := range faults {
		faults[i].Pointer = at + faults[i].Pointer
	}
	return faults
}
