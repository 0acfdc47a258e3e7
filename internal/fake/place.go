package fake

import (
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// A place is what all schemas say about a field, or the elements of an array. Rare keywords,
// such as contains, are left to the check of the record.
type place struct {
	name     string                // of the field
	hint     string                // that it gives, see hints
	sample   func() jsontext.Value // returns the value that a record has there, or nil
	required bool
	schemas  []jsontext.Value // that were not read yet

	enum         []jsontext.Value // nil: any value
	types        []string         // nil: any type
	format, form string           // and its hint
	patterns     []*regexp.Regexp
	pattern      string // the text of one
	examples     []jsontext.Value
	least, most  float64
	multiple     float64
	shortest     int // of characters or elements
	longest      int
	distinct     bool // elements
	fields       []*place
	element      *place
}

func newPlace(name, owner string, sample func() jsontext.Value) *place {
	return &place{name: name, hint: hintOf(name, owner), sample: sample, least: math.Inf(-1), most: math.Inf(1), longest: math.MaxInt32}
}

// field returns the place of a field of objects.
func (p *place) field(name string) *place {
	i := slices.IndexFunc(p.fields, func(f *place) bool { return f.name == name })
	if i < 0 {
		i = len(p.fields)
		p.fields = append(p.fields, newPlace(name, p.name, func() jsontext.Value {
			v, _ := rawjson.Member(p.sample(), name)
			return v
		}))
	}
	return p.fields[i]
}

// items returns the place of the elements of arrays.
func (p *place) items(g *generator) *place {
	if p.element == nil {
		p.element = newPlace(spell.Singular(p.name), "", func() jsontext.Value {
			return pick(g, slices.Collect(rawjson.Elements(p.sample())))
		})
	}
	return p.element
}

// allows reports whether the schemas name a type.
func (p *place) allows(kind string) bool { return slices.Contains(p.types, kind) }

// open returns the place with what its schemas say.
func (g *generator) open(p *place) *place {
	for _, s := range p.schemas {
		g.read(p, s)
	}
	p.schemas = nil
	return p
}

// read adds what a schema says, and one branch of those from which values may choose.
func (g *generator) read(p *place, s jsontext.Value) {
	for quoted, v := range rawjson.Members(s) {
		text, number, list := textOf(v), float(v), slices.Collect(rawjson.Elements(v))
		switch rawjson.Unquote(quoted) {
		case "$ref":
			if to, err := url.PathUnescape(text); err == nil && (to == "#" || strings.HasPrefix(to, "#/")) {
				g.read(p, rawjson.At(g.doc, to[1:]))
			}
		case "allOf":
			for _, s := range list {
				g.read(p, s)
			}
		case "oneOf", "anyOf":
			g.read(p, pick(g, list))
			g.varies = true
		case "if":
			branch := "else"
			g.varies = true
			if g.IntN(2) == 0 {
				branch = "then"
				g.read(p, v)
			}
			v, _ = rawjson.Member(s, branch)
			g.read(p, v)
		case "const":
			p.enum = []jsontext.Value{v}
		case "enum":
			historic, _ := rawjson.Member(s, "x-historic")
			p.enum = slices.DeleteFunc(list, func(e jsontext.Value) bool {
				return isOneOf(e, slices.Collect(rawjson.Elements(historic))) || p.enum != nil && !isOneOf(e, p.enum)
			})
		case "type":
			p.types = []string{text}
			if v.Kind() == '[' {
				p.types = strings.Fields(strings.NewReplacer("[", "", "]", "", `"`, "", ",", " ").Replace(string(v)))
			}
		case "format":
			p.format, p.form = text, hintOf(text, "")
		case "pattern":
			if re, err := regexp.Compile(text); err == nil {
				p.pattern, p.patterns = text, append(p.patterns, re)
			}
		case "examples":
			p.examples = list
		case "minimum":
			p.least = max(p.least, number)
		case "maximum":
			p.most = min(p.most, number)
		case "exclusiveMinimum":
			p.least = max(p.least, math.Nextafter(number, math.Inf(1)))
		case "exclusiveMaximum":
			p.most = min(p.most, math.Nextafter(number, math.Inf(-1)))
		case "multipleOf":
			p.multiple = max(p.multiple, number)
		case "minLength", "minItems":
			p.shortest = max(p.shortest, int(min(number, 10_000))) // more take too long
		case "maxLength", "maxItems":
			p.longest = int(min(float64(p.longest), number))
		case "uniqueItems":
			p.distinct = p.distinct || v.Kind() == 't'
		case "properties":
			for quoted, s := range rawjson.Members(v) {
				f := p.field(rawjson.Unquote(quoted))
				f.schemas = append(f.schemas, s)
			}
		case "items":
			p.items(g).schemas = append(p.items(g).schemas, v)
		}
	}
	required, _ := rawjson.Member(s, "required")
	for name := range rawjson.Elements(required) { // after the properties, which say the order
		p.field(rawjson.Unquote(name)).required = true
	}
}

func isOneOf(v jsontext.Value, list []jsontext.Value) bool {
	return slices.ContainsFunc(list, func(e jsontext.Value) bool { return rawjson.Equal(e, v) })
}
