package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"pickup/internal/rawjson"
)

// A Fault is one mistake in a value.
type Fault struct {
	Pointer string // RFC 6901, into the checked value
	Detail  string // one sentence: the mistake and the correction

	// Suggestion is the string, or the name of a field, that was probably meant, or "".
	Suggestion string

	// Member is a pointer into the record if Pointer leads into a JSON Patch,
	// otherwise "".
	Member string
}

// Meaning returns f with the suggestion near, unless near is "". text is the suggestion as the
// sentence spells it.
func (f Fault) Meaning(near, text string) Fault {
	if near != "" {
		f.Detail += "; did you mean " + text + "?"
		f.Suggestion = near
	}
	return f
}

func (f Fault) String() string {
	if f.Pointer == "" {
		return f.Detail
	}
	return f.Pointer + ": " + f.Detail
}

// A ruleFault is a fault with the keyword that reports it.
type ruleFault struct {
	Fault
	rule string
}

// find returns the faults of v by one schema.
func (l locations) find(sch *jsonschema.Schema, v jsontext.Value) []ruleFault {
	var invalid *jsonschema.ValidationError
	if err := sch.Validate(plain(v)); !errors.As(err, &invalid) {
		return nil
	}
	r := newReport(l, v)
	r.add(invalid)
	return r.found
}

// tidy returns faults without their keywords and without duplicates, sorted by pointer.
func tidy(found []ruleFault) []Fault {
	var faults []Fault
	for _, f := range found {
		faults = append(faults, f.Fault)
	}
	slices.SortFunc(faults, func(a, b Fault) int {
		at, other := rawjson.SplitPointer(a.Pointer), rawjson.SplitPointer(b.Pointer)
		return cmp.Or(slices.CompareFunc(at, other, compareTokens), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(faults)
}

// compareTokens orders names as text and indexes as numbers.
func compareTokens(a, b string) int {
	if rawjson.IsIndex(a) && rawjson.IsIndex(b) {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// A report turns the errors of the validator into faults.
type report struct {
	at    locations
	doc   jsontext.Value
	rule  string                               // the keyword of the next faults
	seen  map[string]map[string]jsontext.Value // by pointer, see inside
	found []ruleFault
}

func newReport(at locations, doc jsontext.Value) *report {
	return &report{at: at, doc: doc, seen: make(map[string]map[string]jsontext.Value)}
}

func (r *report) fault(at []string, format string, args ...any) {
	r.addFault(Fault{Pointer: rawjson.Pointer(at...), Detail: fmt.Sprintf(format, args...)})
}

func (r *report) addFault(f Fault) { r.found = append(r.found, ruleFault{f, r.rule}) }

// add adds the fault of e, or the faults of the causes if e is only a group.
func (r *report) add(e *jsonschema.ValidationError) {
	sch, at := r.at[e.SchemaURL], e.InstanceLocation
	if sch == nil {
		sch = &jsonschema.Schema{} // the meta-schema, which needs no examples
	}
	r.rule = e.SchemaURL + rawjson.Pointer(e.ErrorKind.KeywordPath()...)
	inside := func(name string) []string { return append(slices.Clone(at), name) }
	missing := func(names []string, when string) {
		for _, name := range names {
			r.fault(inside(name), "%s is required%s%s", rawjson.Shorten(name), when, example(sch.Properties[name]))
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			r.add(cause)
		}
	case *kind.Required:
		missing(k.Missing, "")
	case *kind.DependentRequired:
		missing(k.Missing, " if "+rawjson.Shorten(k.Prop)+" is present")
	case *kind.Dependency:
		missing(k.Missing, " if "+rawjson.Shorten(k.Prop)+" is present")
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			r.addFault(unknown(inside(name), sch))
		}
	case *kind.FalseSchema:
		r.fault(at, "this is not allowed here")
	case *kind.RefCycle:
		r.fault(at, "%s cannot be checked: the schema refers to itself without end", r.value(at))
	case *kind.PropertyNames:
		name := newReport(r.at, rawjson.AppendQuote(nil, k.Property))
		for _, why := range name.causes(e) {
			r.fault(inside(k.Property), "this name is not allowed: %s", why)
		}
	case *kind.AnyOf:
		r.choice(e)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			r.fault(at, "%s matches alternatives %d and %d, but exactly one must match",
				r.value(at), k.Subschemas[0]+1, k.Subschemas[1]+1)
			return
		}
		r.choice(e)
	case *kind.Enum:
		r.addFault(notOneOf(rawjson.Pointer(at...), r.value(at), k.Got, extensionsOf(sch).current(k.Want)))
	default:
		r.fault(at, "%s %s%s", r.value(at), sentence(e.ErrorKind, sch), example(sch))
	}
}

// choice adds a fault about alternatives that do not match. If only one alternative is for a
// value of that type, choice adds the faults of that alternative.
func (r *report) choice(e *jsonschema.ValidationError) {
	var meant []*jsonschema.ValidationError
	for _, branch := range e.Causes {
		if !ofOtherType(branch, len(e.InstanceLocation)) {
			meant = append(meant, branch)
		}
	}
	if len(meant) == 1 {
		r.add(meant[0])
		return
	}
	why := r.causes(e)
	if len(why) > 3 {
		why = append(why[:3], "…")
	}
	r.fault(e.InstanceLocation, "no alternative matches: %s", strings.Join(why, "; or "))
}

// ofOtherType reports whether only the type of the value at that depth is wrong.
func ofOtherType(e *jsonschema.ValidationError, depth int) bool {
	switch e.ErrorKind.(type) {
	case *kind.Type:
		return len(e.InstanceLocation) == depth
	case *kind.Reference:
		return len(e.Causes) == 1 && ofOtherType(e.Causes[0], depth)
	}
	return false
}

// causes returns the faults of the causes of e as text.
func (r *report) causes(e *jsonschema.ValidationError) []string {
	var all []string
	for _, cause := range e.Causes {
		inner := report{at: r.at, doc: r.doc, seen: r.seen}
		inner.add(cause)
		var s []string
		for _, f := range tidy(inner.found) {
			f.Pointer = strings.TrimPrefix(f.Pointer, rawjson.Pointer(e.InstanceLocation...))
			s = append(s, f.String())
		}
		if len(s) > 0 {
			all = append(all, strings.Join(s, ", "))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// value returns the value at a path of the document, for a message.
func (r *report) value(at []string) string {
	v := r.doc
	for depth, t := range at {
		v = r.inside(rawjson.Pointer(at[:depth]...), v)[t]
	}
	return rawjson.Show(v)
}

// inside returns the fields or elements of v, the value at pointer, by token. It caches
// the result for further faults.
func (r *report) inside(pointer string, v jsontext.Value) map[string]jsontext.Value {
	if known, ok := r.seen[pointer]; ok {
		return known
	}
	all := maps.Collect(rawjson.Fields(v))
	for e := range rawjson.Elements(v) {
		all[strconv.Itoa(len(all))] = e
	}
	r.seen[pointer] = all
	return all
}
