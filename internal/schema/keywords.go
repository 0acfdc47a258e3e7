package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/spell"
)

// extensionKeywords are the keywords that pickup adds to JSON Schema.
var extensionKeywords = []string{
	"x-alias", "x-historic", "x-id", "x-id-field", "x-now", "x-ref", "x-required-on-create", "x-unique",
}

// extensions are the values of the extension keywords in one schema. The compiler attaches the
// extensions to the compiled schema.
type extensions struct {
	pointer  string // of the schema, in the file
	roles    role   // set by readRules
	alias    []string
	onCreate []string
	ref      string
	onDelete OnDelete
	must     bool            // the referenced record must exist
	historic map[string]bool // identity keys
	now      string
	unique   bool
	idKind   string
	idMember string
	bare     bool // there are only annotations, type, items, required and references
}

// Validate does nothing: the meaning of extension keywords depends on the request.
func (*extensions) Validate(*jsonschema.ValidatorContext, any) {}

// extensionsOf returns the extensions of a compiled schema.
func extensionsOf(sch *jsonschema.Schema) *extensions {
	for _, ext := range sch.Extensions {
		if x, ok := ext.(*extensions); ok {
			return x
		}
	}
	return &extensions{bare: true}
}

// A schemaMistake is a mistake at a pointer into the schema file.
type schemaMistake struct{ pointer, reason string }

func (m *schemaMistake) Error() string { return m.pointer + ": " + m.reason }

// locations maps the Location of a schema, which faults carry, to the schema.
type locations map[string]*jsonschema.Schema

// vocabulary returns the vocabulary of the extension keywords. A compilation with this
// vocabulary adds each schema to l.
func (l locations) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "urn:pickup:members",
		Compile: func(ctx *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
			sch := ctx.Enqueue(nil) // the schema that is being compiled
			l[sch.Location] = sch
			x, err := readExtensions(fragment(sch.Location), obj)
			if err != nil {
				return nil, err
			}
			return x, nil
		},
	}
}

// endless returns a schema whose validation would never end, because the schema refers to
// itself for the same value, or nil.
func (l locations) endless() *jsonschema.Schema {
	done := make(map[*jsonschema.Schema]bool) // false while the schema is being visited
	var visit func(list ...*jsonschema.Schema) *jsonschema.Schema
	visit = func(list ...*jsonschema.Schema) *jsonschema.Schema {
		for _, sch := range list {
			finished, seen := done[sch]
			if sch == nil || finished {
				continue
			}
			if seen {
				return sch
			}
			done[sch] = false
			single := []*jsonschema.Schema{sch.Ref, sch.Not, sch.If, sch.Then, sch.Else}
			if found := visit(slices.Concat(single, sch.AllOf, sch.AnyOf, sch.OneOf)...); found != nil {
				return found
			}
			done[sch] = true
		}
		return nil
	}
	for _, location := range slices.Sorted(maps.Keys(l)) {
		if found := visit(l[location]); found != nil {
			return found
		}
	}
	return nil
}

// readExtensions reads the extension keywords of the schema at pointer.
func readExtensions(pointer string, obj map[string]any) (*extensions, error) {
	x := &extensions{pointer: pointer, bare: true}
	for _, name := range slices.Sorted(maps.Keys(obj)) { // of two mistakes, report always the same
		ok, want := true, ""
		switch v := obj[name]; name {
		case "x-unique":
			x.unique, ok = v.(bool)
			want = "true or false"
		case "x-ref":
			ok = x.reference(v)
			want = `the name of a collection, such as "drivers", or ` +
				`{"collection":"drivers","must-exist":true,"on-delete":"restrict"}; ` +
				`on-delete is "restrict", "cascade" or "set-null"`
		case "x-alias":
			x.alias, ok = stringList(v)
			want = `a list of names, such as ["driverID"]`
		case "x-historic":
			ok = x.readHistoric(v, obj["enum"])
			want = `a list of some of the scalars in "enum", such as ["Unscheduled"]`
		case "x-required-on-create":
			x.onCreate, ok = stringList(v)
			want = `a list of field names, such as ["title"]`
		case "type", "properties", "items", "required", "$ref", "allOf",
			"title", "description", "examples", "default", "readOnly", "writeOnly", "deprecated",
			"$schema", "$id", "$anchor", "$comment", "$defs", "definitions":
		case "x-id":
			x.idKind, ok = v.(string)
			ok = ok && slices.Contains(idKinds, x.idKind)
			want = "one of " + strings.Join(idKinds, ", ")
		case "x-now":
			x.now, ok = v.(string)
			ok = ok && (x.now == onCreate || x.now == onUpdate)
			want = onCreate + " or " + onUpdate
		case "x-id-field":
			x.idMember, ok = v.(string)
			ok = ok && x.idMember != ""
			want = `the name of a field, such as "_id"`
		default:
			near := spell.NearName(name, extensionKeywords)
			if strings.HasPrefix(name, "x-") {
				near = spell.Nearest(name, extensionKeywords) // a misspelled rule would have no effect
			} else {
				x.bare = false
			}
			if near != "" {
				reason := fmt.Sprintf("%s is not a keyword; did you mean %s?", name, near)
				return nil, &schemaMistake{pointer + "/" + name, reason}
			}
		}
		if !ok {
			return nil, &schemaMistake{pointer + "/" + name, fmt.Sprintf("%s must be %s", name, want)}
		}
	}
	return x, nil
}

// reference reads the value of x-ref.
func (x *extensions) reference(v any) (ok bool) {
	x.ref, ok = v.(string)
	if ok {
		return true
	}
	obj, _ := v.(map[string]any)
	x.ref, ok = obj["collection"].(string)
	for name, v := range obj {
		switch name {
		case "collection":
		case "on-delete":
			s, known := v.(string)
			x.onDelete = OnDelete(s)
			ok = ok && known && slices.Contains(onDeletes, x.onDelete)
		case "must-exist":
			var known bool
			x.must, known = v.(bool)
			ok = ok && known
		default:
			return false
		}
	}
	return ok
}

// readHistoric reads the value of x-historic: some values of the enum, but not
// all, because requests need an allowed value.
func (x *extensions) readHistoric(v, enum any) bool {
	values, _ := v.([]any)
	allowed, _ := enum.([]any)
	known := make(map[string]bool)
	for _, e := range allowed {
		switch e.(type) {
		case []any, map[string]any:
			known[plainKey(e)] = false
		default:
			known[plainKey(e)] = true
		}
	}
	x.historic = make(map[string]bool)
	for _, e := range values {
		key := plainKey(e)
		if !known[key] {
			return false
		}
		x.historic[key] = true
	}
	return len(x.historic) > 0 && len(x.historic) < len(known)
}

// current returns the values of an enum that are not historic.
func (x *extensions) current(enum []any) []any {
	return slices.DeleteFunc(slices.Clone(enum), func(v any) bool { return x.historic[plainKey(v)] })
}

func stringList(v any) (list []string, ok bool) {
	values, ok := v.([]any)
	for _, v := range values {
		s, is := v.(string)
		list = append(list, s)
		ok = ok && is
	}
	return list, ok
}

// An IDKind is a way to make the ids of new records.
type IDKind string

const (
	AutoIDs   IDKind = "auto"   // like the other ids of the collection, of a type that the schema allows; "" too
	NumberIDs IDKind = "number" // the next integer, as a number
	UUIDs     IDKind = "uuid"   // a UUID of version 7 (RFC 9562), ordered by time
	ShortIDs  IDKind = "short"  // a letter and five letters or digits, such as k3v9xq
)

// TextIDs are AutoIDs as strings: the next integer in quotes.
const TextIDs IDKind = "text"

// idKinds are the IDKinds by name.
var idKinds = []string{string(AutoIDs), string(NumberIDs), string(UUIDs), string(ShortIDs)}

// DefaultIDMember is the field with the id of a record unless configured otherwise.
const DefaultIDMember = "id"

// An OnDelete is the effect of a delete on records that refer to the deleted record (on-delete
// in x-ref). The zero value leaves these records unchanged.
type OnDelete string

const (
	Restrict OnDelete = "restrict" // the delete is refused
	Cascade  OnDelete = "cascade"  // the referring records are deleted, too
	SetNull  OnDelete = "set-null" // the references become null
)

var onDeletes = []OnDelete{Cascade, Restrict, SetNull}
