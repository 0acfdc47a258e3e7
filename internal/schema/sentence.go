package schema

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// sentence describes a mistake. The text follows the value.
func sentence(k jsonschema.ErrorKind, sch *jsonschema.Schema) string {
	switch k := k.(type) {
	case *kind.Type:
		return "is not " + typeNames(k.Want)
	case *kind.Const:
		return "is not " + literal(k.Want) + ", the only value allowed"
	case *kind.Format:
		return formatSentence(k)
	case *kind.Pattern:
		if sch.Description == "" {
			return "does not match the pattern " + rawjson.Shorten(k.Want)
		}
	case *kind.MinLength:
		return fmt.Sprintf("has %s; the minimum is %d", spell.Count(k.Got, "character"), k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %s; the maximum is %d", spell.Count(k.Got, "character"), k.Want)
	case *kind.Minimum:
		return "is less than " + ratText(k.Want)
	case *kind.Maximum:
		return "is greater than " + ratText(k.Want)
	case *kind.ExclusiveMinimum:
		return "is not greater than " + ratText(k.Want)
	case *kind.ExclusiveMaximum:
		return "is not less than " + ratText(k.Want)
	case *kind.MultipleOf:
		return "is not a multiple of " + ratText(k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %s; the minimum is %d", spell.Count(k.Got, "element"), k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %s; the maximum is %d", spell.Count(k.Got, "element"), k.Want)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %s too many", spell.Count(k.Count, "element"))
	case *kind.UniqueItems:
		return fmt.Sprintf("has equal elements at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "contains no matching element"
	case *kind.MinContains:
		return fmt.Sprintf("contains %s that match; the minimum is %d", spell.Count(len(k.Got), "element"), k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("contains %s that match; the maximum is %d", spell.Count(len(k.Got), "element"), k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %s; the minimum is %d", spell.Count(k.Got, "field"), k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %s; the maximum is %d", spell.Count(k.Got, "field"), k.Want)
	}
	if sch.Description != "" {
		return fmt.Sprintf("does not match the description %q", strings.TrimSuffix(sch.Description, "."))
	}
	return "is not allowed here"
}

// notOneOf returns the fault of a value that is not allowed. text is the value for a message.
func notOneOf(at, text string, got any, allowed []any) Fault {
	const most = 12
	var words, known []string
	for i, w := range allowed {
		if s, ok := w.(string); ok {
			known = append(known, s)
		}
		if i < most {
			words = append(words, literal(w))
		} else if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(allowed)-most))
		}
	}
	s := "is not one of " + strings.Join(words, ", ")
	if len(words) == 1 {
		s = "is not " + words[0] + ", the only value allowed"
	}
	near := ""
	if got, ok := got.(string); ok {
		near = spell.Nearest(got, known)
	}
	return Fault{Pointer: at, Detail: text + " " + s}.Meaning(near, strconv.Quote(near))
}

func formatSentence(k *kind.Format) string {
	name := "of the format " + k.Want
	if known, ok := rawjson.Member(formats, k.Want); ok {
		name = rawjson.Unquote(known)
	}
	if k.Want == isoDateTime.Name && k.Err != errForm || k.Want == "regex" {
		return fmt.Sprintf("is not %s: %s", name, rawjson.Shorten(k.Err.Error()))
	}
	return "is not " + name
}

// example returns an example of a valid value from the schema, to follow the mistake, or "".
func example(sch *jsonschema.Schema) string {
	if sch == nil {
		return ""
	}
	for _, part := range append([]*jsonschema.Schema{sch}, gather(true, sch)...) {
		if len(part.Examples) > 0 {
			return "; for example: " + rawjson.Shorten(encode(part.Examples[0]))
		}
	}
	return ""
}

// unknown returns the fault of a field that a schema does not allow.
func unknown(at []string, sch *jsonschema.Schema) Fault {
	name := at[len(at)-1]
	near := spell.NearName(name, slices.Sorted(maps.Keys(sch.Properties)))
	detail := rawjson.Shorten(name) + " is not a known field, and no others are allowed"
	return Fault{Pointer: rawjson.Pointer(at...), Detail: detail}.Meaning(near, near)
}

// ratText returns a number of a schema in decimals, if possible.
func ratText(r *big.Rat) string {
	if r.IsInt() {
		return rawjson.Shorten(r.Num().String())
	}
	if n, exact := r.FloatPrec(); exact {
		return rawjson.Shorten(r.FloatString(n))
	}
	return rawjson.Shorten(r.RatString())
}

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
