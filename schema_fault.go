package pickup

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// judge returns what breaks the rules of one schema, sorted by pointer.
func (l locations) judge(sch *jsonschema.Schema, v jsontext.Value) []Fault {
	var invalid *jsonschema.ValidationError
	if err := sch.Validate(plain(v)); !errors.As(err, &invalid) {
		return nil
	}
	r := report{at: l, doc: v}
	r.add(invalid)
	return tidy(r.faults)
}

// tidy sorts faults by pointer and drops those that stand there twice.
func tidy(faults []Fault) []Fault {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(slices.CompareFunc(tokens(a.Pointer), tokens(b.Pointer), compareTokens), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(faults)
}

// compareTokens orders names as text and indexes as numbers.
func compareTokens(a, b string) int {
	if digits(a) && digits(b) {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// A report says in sentences what the validator found.
type report struct {
	at     locations
	doc    jsontext.Value
	faults []Fault
}

func (r *report) fault(at []string, format string, args ...any) {
	r.faults = append(r.faults, Fault{joined(at), fmt.Sprintf(format, args...)})
}

// add enters what e says, or what its causes say where it only holds them
// together.
func (r *report) add(e *jsonschema.ValidationError) {
	sch, at := r.at[e.SchemaURL], e.InstanceLocation
	if sch == nil {
		sch = &jsonschema.Schema{} // of the meta-schema, which needs no examples
	}
	inside := func(name string) []string { return append(slices.Clone(at), name) }
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			r.add(cause)
		}
	case *kind.Required:
		for _, name := range k.Missing {
			r.fault(inside(name), "%s is missing but required%s", shorten(name), example(sch.Properties[name]))
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			r.fault(inside(name), "%s is missing but required where there is %s%s", shorten(name), shorten(k.Prop), example(sch.Properties[name]))
		}
	case *kind.Dependency:
		for _, name := range k.Missing {
			r.fault(inside(name), "%s is missing but required where there is %s%s", shorten(name), shorten(k.Prop), example(sch.Properties[name]))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			r.fault(inside(name), "%s is not a known member, and no others are allowed%s", shorten(name), meant(name, sch))
		}
	case *kind.FalseSchema:
		r.fault(at, "this is not allowed here")
	case *kind.PropertyNames:
		name := report{at: r.at, doc: appendName(nil, k.Property)}
		for _, why := range name.causes(e) {
			r.fault(inside(k.Property), "this name is not allowed: %s", why)
		}
	case *kind.AnyOf:
		r.choice(e)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			r.fault(at, "%s fits %s and %s of the alternatives, of which exactly one may fit", r.found(at), ordinal(k.Subschemas[0]), ordinal(k.Subschemas[1]))
			return
		}
		r.choice(e)
	case *kind.Enum:
		r.fault(at, "%s %s", r.found(at), enumSentence(k))
	default:
		r.fault(at, "%s %s%s", r.found(at), sentence(e.ErrorKind, sch), example(sch))
	}
}

// sentence says why a value does not do, behind the value.
func sentence(k jsonschema.ErrorKind, sch *jsonschema.Schema) string {
	switch k := k.(type) {
	case *kind.Type:
		return "is not " + typeNames(k.Want)
	case *kind.Const:
		return "is not " + literal(k.Want) + ", the only value allowed"
	case *kind.Format:
		return formatSentence(k)
	case *kind.Pattern:
		if sch.Description != "" {
			return fmt.Sprintf("does not fit the description %q", strings.TrimSuffix(sch.Description, "."))
		}
		return "does not match the pattern " + shorten(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("has %s; at least %d are needed", plural(k.Got, "character"), k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %s; %d are allowed", plural(k.Got, "character"), k.Want)
	case *kind.Minimum:
		return "is less than " + ratText(k.Want)
	case *kind.Maximum:
		return "is greater than " + ratText(k.Want)
	case *kind.ExclusiveMinimum:
		return "is not greater than " + ratText(k.Want)
	case *kind.ExclusiveMaximum:
		return "is not less than " + ratText(k.Want)
	case *kind.MultipleOf:
		return "is no multiple of " + ratText(k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %s; at least %d are needed", plural(k.Got, "element"), k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %s; %d are allowed", plural(k.Got, "element"), k.Want)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %s too many", plural(k.Count, "element"))
	case *kind.UniqueItems:
		return fmt.Sprintf("has equal elements, at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "has no element of the kind that is needed"
	case *kind.MinContains:
		return fmt.Sprintf("has %s of the kind that is needed; at least %d are", plural(len(k.Got), "element"), k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("has %s of a kind of which %d are allowed", plural(len(k.Got), "element"), k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %s; at least %d are needed", plural(k.Got, "member"), k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %s; %d are allowed", plural(k.Got, "member"), k.Want)
	}
	if sch.Description != "" {
		return fmt.Sprintf("does not fit the description %q", strings.TrimSuffix(sch.Description, "."))
	}
	return "is not allowed here"
}

func enumSentence(k *kind.Enum) string {
	const most = 12
	var words, known []string
	for i, w := range k.Want {
		if s, ok := w.(string); ok {
			known = append(known, s)
		}
		switch {
		case i < most:
			words = append(words, literal(w))
		case i == most:
			words = append(words, fmt.Sprintf("and %d more", len(k.Want)-most))
		}
	}
	s := "is not one of " + strings.Join(words, ", ")
	if len(words) == 1 {
		s = "is not " + words[0] + ", the only value allowed"
	}
	if got, ok := k.Got.(string); ok {
		if near := nearValue(got, known); near != "" {
			s += fmt.Sprintf("; did you mean %q?", near)
		}
	}
	return s
}

func formatSentence(k *kind.Format) string {
	name := formatNames[k.Want]
	if name == "" {
		name = "of the format " + k.Want
	}
	switch k.Want {
	case isoDateTime.Name, email.Name, "regex":
		return fmt.Sprintf("is not %s: %s", name, shorten(k.Err.Error()))
	}
	return "is not " + name
}

// choice tells why none of several alternatives fits. Where all but one are
// about another type of value, that one was meant, and what it says is told.
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
	var why []string
	for i, s := range r.causes(e) {
		if i == 3 {
			why = append(why, "…")
			break
		}
		why = append(why, s)
	}
	r.fault(e.InstanceLocation, "none of the alternatives fits: %s", strings.Join(why, "; or "))
}

// ofOtherType reports whether all that is wrong with the value at that depth
// is its type.
func ofOtherType(e *jsonschema.ValidationError, depth int) bool {
	switch e.ErrorKind.(type) {
	case *kind.Type:
		return len(e.InstanceLocation) == depth
	case *kind.Reference:
		return len(e.Causes) == 1 && ofOtherType(e.Causes[0], depth)
	}
	return false
}

// causes returns what e's causes say.
func (r *report) causes(e *jsonschema.ValidationError) []string {
	var all []string
	for _, cause := range e.Causes {
		inner := report{at: r.at, doc: r.doc}
		inner.add(cause)
		var s []string
		for _, f := range tidy(inner.faults) {
			f.Pointer = strings.TrimPrefix(f.Pointer, joined(e.InstanceLocation))
			s = append(s, f.String())
		}
		if len(s) > 0 {
			all = append(all, strings.Join(s, ", "))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// found returns the text of the value at a place of the document.
func (r *report) found(at []string) string {
	v := r.doc
	for _, t := range at {
		v = child(v, t)
	}
	return shown(v)
}

// shown returns a value as a message can hold it: of a long one the first 100
// characters.
func shown(v jsontext.Value) string {
	s := shorten(string(v))
	if v.Kind() == '"' && s != string(v) {
		return s + `"`
	}
	return s
}

// shorten cuts s where it has more than 100 characters.
func shorten(s string) string {
	const most = 100
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// example says what would be right, behind what is wrong, where the schema
// gives an example.
func example(sch *jsonschema.Schema) string {
	if sch == nil {
		return ""
	}
	for _, part := range append([]*jsonschema.Schema{sch}, gather([]*jsonschema.Schema{sch}, true)...) {
		if len(part.Examples) > 0 {
			return "; right would be, for example, " + jsonText(part.Examples[0])
		}
	}
	return ""
}

// meant asks for the member that name was probably meant to be.
func meant(name string, sch *jsonschema.Schema) string {
	var known []string
	for k := range sch.Properties {
		known = append(known, k)
	}
	slices.Sort(known)
	if near := nearName(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// ratText returns a number of a schema as people write it.
func ratText(r *big.Rat) string {
	if r.IsInt() {
		return shorten(r.Num().String())
	}
	if n, exact := r.FloatPrec(); exact {
		return shorten(r.FloatString(n))
	}
	return shorten(r.RatString())
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func ordinal(i int) string { return fmt.Sprintf("number %d", i+1) }

func typeNames(types []string) string {
	named := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			named[i] = t
		case "array", "integer", "object":
			named[i] = "an " + t
		case "boolean":
			named[i] = "true or false"
		default:
			named[i] = "a " + t
		}
	}
	if n := len(named); n > 2 {
		return strings.Join(named[:n-1], ", ") + " or " + named[n-1]
	}
	return strings.Join(named, " or ")
}
