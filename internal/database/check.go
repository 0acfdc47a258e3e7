package database

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Check returns everything in the database that breaks a rule, as only hand edits
// can. Pointers lead into db.json, with the schema's names of members. Dangling
// references are faults, and so are repeated values of unique members.
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

// checkMember checks one top-level member. If validated is set, the validator has
// seen it, and only extension keywords are left to check.
func (s *Snapshot) checkMember(c *collection, r *schema.Rules, validated bool) []schema.Fault {
	var faults []schema.Fault
	array := c.kind == storage.Array
	if !validated && (!array || !r.Apart()) {
		v := jsontext.Value("[]") // the type is wrong, so the elements do not matter
		if !array || r.Array {
			v = c.appendJSON(nil)
		}
		faults, validated = r.CheckMember(v), true
	}
	switch {
	case array != r.Array:
		return faults
	case c.kind == storage.Object:
		return append(append(faults, r.CheckRecord(c.value, true)...), s.dangling(r, c.value)...)
	}
	first := make(map[string]int)
	for i, record := range c.inOrder() {
		of := append(r.CheckRecord(record.Value, validated), s.dangling(r, record.Value)...)
		faults = append(faults, under(fmt.Sprintf("/%d", i), of)...)
		faults = append(faults, repeated(r, i, record.Value, first)...)
	}
	return faults
}

// dangling returns a fault for each reference to a record that does not exist.
func (s *Snapshot) dangling(r *schema.Rules, value jsontext.Value) []schema.Fault {
	var faults []schema.Fault
	for _, ref := range r.References {
		check := func(at string, v jsontext.Value) {
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
		check(rawjson.Pointer(ref.Member), v)
		i := 0
		for e := range rawjson.Elements(v) {
			check(fmt.Sprintf("%s/%d", rawjson.Pointer(ref.Member), i), e)
			i++
		}
	}
	return faults
}

// repeated returns a fault for each unique member of element i whose value an
// earlier element has. first has the first element of each member and value.
func repeated(r *schema.Rules, i int, value jsontext.Value, first map[string]int) []schema.Fault {
	var faults []schema.Fault
	for _, name := range r.Unique {
		v, ok := rawjson.Member(value, name)
		if !ok || v.Kind() == 'n' {
			continue
		}
		key := name + "\x00" + rawjson.Identity(v)
		if earlier, taken := first[key]; taken {
			faults = append(faults, schema.Fault{
				Pointer: fmt.Sprintf("/%d%s", i, rawjson.Pointer(name)),
				Detail:  fmt.Sprintf("%s must be unique: element %d has the same value", rawjson.Show(v), earlier),
			})
		} else {
			first[key] = i
		}
	}
	return faults
}

// under prefixes the pointers of faults in a value with the pointer to the value.
func under(at string, faults []schema.Fault) []schema.Fault {
	for i := range faults {
		faults[i].Pointer = at + faults[i].Pointer
	}
	return faults
}
