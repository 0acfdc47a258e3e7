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

// A fieldModel describes the values of a field, or of the elements of an array, by all schemas
// for them. Rare keywords, such as contains, are missing: the database checks each record.
type fieldModel struct {
	name     string                // of the field
	hint     string                // from the name, see hints
	sample   func() jsontext.Value // returns the value in some record, or nil
	required bool
	schemas  []jsontext.Value // not read yet

	enum       []jsontext.Value // nil: any value
	types      []string         // nil: any type
	format     string
	formatHint string
	patterns   []*regexp.Regexp
	pattern    string // the text of the last pattern
	examples   []jsontext.Value
	minimum    float64
	maximum    float64
	multiple   float64
	shortest   int // of characters or elements
	longest    int
	distinct   bool // elements
	fields     []*fieldModel
	element    *fieldModel
}

func newModel(name, owner string, sample func() jsontext.Value) *fieldModel {
	return &fieldModel{
		name:    name,
		hint:    hintOf(name, owner),
		sample:  sample,
		minimum: math.Inf(-1),
		maximum: math.Inf(1),
		longest: math.MaxInt32,
	}
}

// field returns the model of a field of objects.
func (m *fieldModel) field(name string) *fieldModel {
	i := slices.IndexFunc(m.fields, func(f *fieldModel) bool { return f.name == name })
	if i < 0 {
		i = len(m.fields)
		m.fields = append(m.fields, newModel(name, m.name, func() jsontext.Value {
			v, _ := rawjson.Member(m.sample(), name)
			return v
		}))
	}
	return m.fields[i]
}

// items returns the model of the elements of arrays.
func (m *fieldModel) items(g *generator) *fieldModel {
	if m.element == nil {
		m.element = newModel(spell.Singular(m.name), "", func() jsontext.Value {
			return pick(g, slices.Collect(rawjson.Elements(m.sample())))
		})
	}
	return m.element
}

// allows reports whether the schemas name a type.
func (m *fieldModel) allows(kind string) bool {
	return slices.Contains(m.types, kind)
}

// open reads the schemas of m, and returns m.
func (g *generator) open(m *fieldModel) *fieldModel {
	for _, s := range m.schemas {
		g.read(m, s)
	}
	m.schemas = nil
	return m
}

// read adds a schema to m, with one branch of each choice.
func (g *generator) read(m *fieldModel, s jsontext.Value) {
	for keyword, v := range rawjson.Fields(s) {
		switch keyword {
		case "$ref":
			to, err := url.PathUnescape(textOf(v))
			if err == nil && (to == "#" || strings.HasPrefix(to, "#/")) {
				g.read(m, rawjson.At(g.doc, to[1:]))
			}
		case "allOf":
			for s := range rawjson.Elements(v) {
				g.read(m, s)
			}
		case "oneOf", "anyOf":
			g.read(m, pick(g, slices.Collect(rawjson.Elements(v))))
			g.varies = true
		case "if":
			g.readBranch(m, s, v)
		case "enum":
			historic, _ := rawjson.Member(s, "x-historic")
			m.restrict(v, slices.Collect(rawjson.Elements(historic)))
		case "properties":
			for name, s := range rawjson.Fields(v) {
				f := m.field(name)
				f.schemas = append(f.schemas, s)
			}
		case "items":
			items := m.items(g)
			items.schemas = append(items.schemas, v)
		default:
			m.describe(keyword, v)
		}
	}
	required, _ := rawjson.Member(s, "required")
	for name := range rawjson.Elements(required) { // after the properties, which define the order
		m.field(rawjson.Unquote(name)).required = true
	}
}

// readBranch adds the then or the else of schema s. A value for then must fit the condition.
func (g *generator) readBranch(m *fieldModel, s, condition jsontext.Value) {
	g.varies = true
	branch := "else"
	if g.IntN(2) == 0 {
		branch = "then"
		g.read(m, condition)
	}
	v, _ := rawjson.Member(s, branch)
	g.read(m, v)
}

// describe adds a keyword about strings, arrays and types.
func (m *fieldModel) describe(keyword string, v jsontext.Value) {
	text := textOf(v)
	switch keyword {
	case "const":
		m.enum = []jsontext.Value{v}
	case "type":
		m.types = []string{text}
		if v.Kind() == '[' {
			m.types = nil
			for name := range rawjson.Elements(v) {
				m.types = append(m.types, textOf(name))
			}
		}
	case "format":
		m.format = text
		m.formatHint = hintOf(text, "")
	case "pattern":
		if re, err := regexp.Compile(text); err == nil {
			m.pattern = text
			m.patterns = append(m.patterns, re)
		}
	case "examples":
		m.examples = slices.Collect(rawjson.Elements(v))
	case "minLength", "minItems":
		m.shortest = max(m.shortest, int(min(float(v), 10_000))) // longer values take too long
	case "maxLength", "maxItems":
		m.longest = int(min(float64(m.longest), float(v)))
	case "uniqueItems":
		m.distinct = m.distinct || v.Kind() == 't'
	default:
		m.bound(keyword, float(v))
	}
}

// bound adds a keyword about numbers.
func (m *fieldModel) bound(keyword string, n float64) {
	switch keyword {
	case "minimum":
		m.minimum = max(m.minimum, n)
	case "maximum":
		m.maximum = min(m.maximum, n)
	case "exclusiveMinimum":
		m.minimum = max(m.minimum, math.Nextafter(n, math.Inf(1)))
	case "exclusiveMaximum":
		m.maximum = min(m.maximum, math.Nextafter(n, math.Inf(-1)))
	case "multipleOf":
		m.multiple = max(m.multiple, n)
	}
}

// restrict adds an enum. Historic values are not for new records.
func (m *fieldModel) restrict(enum jsontext.Value, historic []jsontext.Value) {
	m.enum = slices.DeleteFunc(slices.Collect(rawjson.Elements(enum)), func(v jsontext.Value) bool {
		return isOneOf(v, historic) || m.enum != nil && !isOneOf(v, m.enum)
	})
}

func isOneOf(v jsontext.Value, list []jsontext.Value) bool {
	return slices.ContainsFunc(list, func(e jsontext.Value) bool { return rawjson.Equal(e, v) })
}
