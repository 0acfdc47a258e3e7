package fake

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

const deepest = 6 // level with optional values; required values end soon after it

// object makes an object. At level 0 it is the record.
func (g *generator) object(m *fieldModel, level int) jsontext.Value {
	var names []string
	var values []jsontext.Value
	for _, f := range m.fields {
		var v jsontext.Value
		g.open(f)
		if level == 0 {
			v = g.recordField(f)
		} else if f.required || level < deepest && g.includes(m, f) {
			v = g.value(f, level+1)
		}
		if v != nil {
			names = append(names, f.name)
			values = append(values, v)
		}
	}
	out := []byte("{")
	for i, name := range names {
		for _, period := range periods {
			start := strings.Replace(strings.ToLower(name), period[1], period[0], 1)
			j := slices.IndexFunc(names, func(n string) bool { return strings.ToLower(n) == start })
			if j >= 0 && j != i {
				values[i] = g.after(values[j], values[i])
			}
		}
		out = rawjson.AppendMember(out, name, values[i])
	}
	return append(out, '}')
}

// value makes a value.
func (g *generator) value(m *fieldModel, level int) jsontext.Value {
	known := g.known(g.open(m), "")
	if level > deepest+2 {
		return jsontext.Value("null")
	}
	if isOneOf(known, m.enum) && g.IntN(5) > 0 {
		return known
	}
	if known.Kind() == 'n' && m.enum == nil && (m.types == nil || m.allows("null")) {
		return known
	}
	if len(m.enum) > 0 {
		return pick(g, m.enum)
	}
	switch kind := m.kind(known); kind {
	case "null":
		return jsontext.Value("null")
	case "boolean":
		if v := g.known(m, "tf"); v != nil {
			return v
		}
		return strconv.AppendBool(nil, g.IntN(2) == 0)
	case "integer", "number":
		return g.number(m, kind == "integer")
	case "array":
		return g.array(m, level)
	case "object":
		return g.object(m, level)
	}
	return quote(g.text(m))
}

// kind returns the type of the value to make. known is the value in some record, or nil.
func (m *fieldModel) kind(known jsontext.Value) string {
	isNumber := known.Kind() == '0'
	if n := len(m.types); n > 0 {
		if m.types[0] == "null" || isNumber && m.allows("number") {
			return m.types[n-1]
		}
		return m.types[0]
	}
	switch {
	case m.fields != nil:
		return "object"
	case m.element != nil:
		return "array"
	case isNumber, m.multiple > 0, !math.IsInf(m.minimum, 0), !math.IsInf(m.maximum, 0):
		return "number"
	}
	return "string"
}

// known returns the value in some record, or nil. kinds are the kinds of JSON values to
// accept; "" means all.
func (g *generator) known(m *fieldModel, kinds string) jsontext.Value {
	if len(g.samples) == 0 {
		return nil
	}
	for range tries {
		v := m.sample()
		if v != nil && (kinds == "" || strings.IndexByte(kinds, byte(v.Kind())) >= 0) {
			return v
		}
	}
	return nil
}

func (g *generator) array(m *fieldModel, level int) jsontext.Value {
	n := m.shortest
	if m.element != nil && level < deepest {
		n += g.IntN(4)
	}
	who := g.who
	var list []jsontext.Value
	for try := 0; len(list) < min(n, m.longest) && try < n+tries; try++ {
		g.who = nil // each element is about another person
		v := g.value(m.items(g), level+1)
		if !m.distinct || !isOneOf(v, list) {
			list = append(list, v)
		}
	}
	g.who = who
	return array(list)
}

// number makes a number within the bounds, like the numbers of other records, or as the name
// suggests.
func (g *generator) number(m *fieldModel, integer bool) jsontext.Value {
	low, high, decimals := g.numberRange(m)
	unit := math.Pow10(-decimals)
	for ; high > low && unit > (high-low)/2 && decimals < 9; decimals++ {
		unit /= 10
	}
	if integer {
		unit = 1
		decimals = 0
	}
	if m.multiple > 0 && (!integer || m.multiple == math.Trunc(m.multiple)) {
		unit = m.multiple
		decimals = -1
	}
	at := func(k float64) jsontext.Value {
		return strconv.AppendFloat(nil, k*unit, 'f', decimals, 64)
	}
	first := math.Floor(low / unit)
	last := math.Ceil(high / unit)
	if float(at(first)) < low {
		first++
	}
	if float(at(last)) > high {
		last--
	}
	return at(first + math.Floor(g.Float64()*max(last-first+1, 1)))
}

// numberRange returns the bounds and the number of decimals of a number.
func (g *generator) numberRange(m *fieldModel) (low, high float64, decimals int) {
	high = 1000
	decimals = 2
	fmt.Sscanf(g.fill(m.hint), "#%g %g %d", &low, &high, &decimals) // fails if the hint is not for numbers
	a := g.known(m, "0")
	b := g.known(m, "0")
	if a != nil && b != nil {
		low = min(float(a), float(b))
		high = max(float(a), float(b))
		_, fraction, _ := strings.Cut(string(a), ".")
		decimals = min(len(fraction), 9)
	}
	// The schema decides.
	low = max(low, m.minimum)
	if low > m.maximum {
		low = max(m.minimum, m.maximum-100)
	}
	high = min(high, m.maximum)
	if high < low {
		high = min(low+100, m.maximum)
	}
	return low, high, decimals
}

// enoughExamples is how many examples count before the values of other records.
const enoughExamples = 5

// text makes a string.
func (g *generator) text(m *fieldModel) string {
	named := func() string { return g.expand(m.hint) }
	known := func() string { return textOf(g.known(m, `"`)) }
	if strings.HasPrefix(m.hint, "{Words}") { // records show more than such a name
		named, known = known, named
	}
	for _, make := range []func() string{
		func() string { return g.time(m) },
		func() string { return g.expand(m.formatHint) },
		func() string {
			if len(m.examples) < enoughExamples {
				return ""
			}
			return textOf(pick(g, m.examples))
		},
		named,
		known,
		func() string { return g.match(m.pattern) },
		func() string { return textOf(pick(g, m.examples)) },
		func() string { return g.words(1+g.IntN(3), false) },
	} {
		for range tries {
			s := make()
			if s == "" {
				break
			}
			if m.fits(s) {
				return s
			}
		}
	}
	if m.pattern != "" { // the length is wrong, and the fault will say so
		return g.match(m.pattern)
	}
	s := g.words(1+m.shortest/2, false) // each word has at least two letters, with the space
	most := max(m.shortest, min(m.longest, 20))
	return strings.ReplaceAll(s[:min(len(s), most)], " ", "-")
}

// fits reports whether s has a valid length and matches the patterns.
func (m *fieldModel) fits(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= m.shortest && n <= m.longest &&
		!slices.ContainsFunc(m.patterns, func(re *regexp.Regexp) bool { return !re.MatchString(s) })
}

// match returns a string that matches the expression. It ignores assertions.
func (g *generator) match(expression string) string {
	re, _ := syntax.Parse(expression, syntax.Perl) // a hint, or compiled before
	return g.matchSyntax(re)
}

func (g *generator) matchSyntax(re *syntax.Regexp) string {
	var b []byte
	least := 1
	most := 1
	subs := re.Sub
	switch re.Op {
	case syntax.OpLiteral:
		b = append(b, string(re.Rune)...)
	case syntax.OpCharClass:
		b = utf8.AppendRune(b, g.letter(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b = append(b, 'x')
	case syntax.OpAlternate:
		subs = []*syntax.Regexp{pick(g, subs)}
	case syntax.OpStar:
		least = 0
		most = 3
	case syntax.OpPlus:
		most = 5
	case syntax.OpQuest:
		least = 0
	case syntax.OpRepeat:
		least = re.Min
		most = re.Max
		if most < 0 {
			most = least + 4
		}
	}
	for range least + g.IntN(most-least+1) {
		for _, sub := range subs {
			b = append(b, g.matchSyntax(sub)...)
		}
	}
	return string(b)
}

// letter returns a character in ranges, if possible a letter or a digit.
func (g *generator) letter(ranges []rune) rune {
	for range 10 * tries {
		c := rune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[g.IntN(62)])
		for i := 0; i < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] {
				return c
			}
		}
	}
	return append(ranges, ' ')[0]
}

// array returns an array of values.
func array(values []jsontext.Value) jsontext.Value {
	out := []byte("[")
	for _, v := range values {
		out = append(rawjson.AppendComma(out), v...)
	}
	return append(out, ']')
}

// float returns a number. It returns infinity for a number that is too large.
func float(v jsontext.Value) float64 {
	f, _ := strconv.ParseFloat(string(v), 64)
	return f
}

// textOf returns the text of a string, or "".
func textOf(v jsontext.Value) string {
	text, _ := rawjson.Text(v)
	return text
}

func quote(s string) jsontext.Value {
	return rawjson.AppendQuote(nil, s)
}

// pick returns a random item of list, or the zero value if list is empty.
func pick[T any](g *generator, list []T) (item T) {
	if len(list) > 0 {
		item = list[g.IntN(len(list))]
	}
	return item
}
