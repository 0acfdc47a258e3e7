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

const deepest = 6 // level with optional values; required ones end soon after it

// object makes an object. At level 0 it is the record.
func (g *generator) object(p *place, level int) jsontext.Value {
	var names []string
	var values []jsontext.Value
	for _, f := range p.fields {
		var v jsontext.Value
		g.open(f)
		if level == 0 {
			v = g.member(f)
		} else if f.required || level < deepest && g.includes(p, f) {
			v = g.value(f, level+1)
		}
		if v != nil {
			names, values = append(names, f.name), append(values, v)
		}
	}
	out := []byte("{")
	for i, name := range names {
		for _, period := range periods {
			begin := strings.Replace(strings.ToLower(name), period[1], period[0], 1)
			if j := slices.IndexFunc(names, func(n string) bool { return strings.ToLower(n) == begin }); j >= 0 && j != i {
				values[i] = g.after(values[j], values[i])
			}
		}
		out = rawjson.AppendMember(out, name, values[i])
	}
	return append(out, '}')
}

// value makes a value.
func (g *generator) value(p *place, level int) jsontext.Value {
	known, kind := g.known(g.open(p), ""), "string"
	isNumber := known.Kind() == '0'
	switch {
	case level > deepest+2:
		return jsontext.Value("null")
	case isOneOf(known, p.enum) && g.IntN(5) > 0 || known.Kind() == 'n' && p.enum == nil && (p.types == nil || p.allows("null")):
		return known
	case len(p.enum) > 0:
		return pick(g, p.enum)
	case len(p.types) > 0:
		kind = p.types[0]
		if kind == "null" || isNumber && p.allows("number") {
			kind = p.types[len(p.types)-1]
		}
	case p.fields != nil:
		kind = "object"
	case p.element != nil:
		kind = "array"
	case p.multiple > 0 || p.least > math.Inf(-1) || p.most < math.Inf(1) || isNumber:
		kind = "number"
	}
	switch kind {
	case "null":
		return jsontext.Value("null")
	case "boolean":
		if v := g.known(p, "tf"); v != nil {
			return v
		}
		return strconv.AppendBool(nil, g.IntN(2) == 0)
	case "integer", "number":
		return g.number(p, kind == "integer")
	case "array":
		return g.array(p, level)
	case "object":
		return g.object(p, level)
	}
	return quote(g.text(p))
}

// known returns a value that a record has, of one of the kinds unless that is "", or nil.
func (g *generator) known(p *place, kinds string) jsontext.Value {
	for try := 0; len(g.samples) > 0 && try < tries; try++ {
		if v := p.sample(); v != nil && (kinds == "" || strings.IndexByte(kinds, byte(v.Kind())) >= 0) {
			return v
		}
	}
	return nil
}

func (g *generator) array(p *place, level int) jsontext.Value {
	n, who, list := p.shortest, g.who, []jsontext.Value(nil)
	if p.element != nil && level < deepest {
		n += g.IntN(4)
	}
	for try := 0; len(list) < min(n, p.longest) && try < n+tries; try++ {
		g.who = nil
		if v := g.value(p.items(g), level+1); !p.distinct || !isOneOf(v, list) {
			list = append(list, v)
		}
	}
	g.who = who
	return array(list)
}

// number makes a number within the bounds, like the numbers of other records, or as the name suggests.
func (g *generator) number(p *place, integer bool) jsontext.Value {
	low, high, decimals := 0.0, 1000.0, 2
	fmt.Sscanf(g.fill(p.hint), "#%g %g %d", &low, &high, &decimals) // or else it says nothing of numbers
	if a, b := g.known(p, "0"), g.known(p, "0"); a != nil && b != nil {
		_, fraction, _ := strings.Cut(string(a), ".")
		low, high, decimals = min(float(a), float(b)), max(float(a), float(b)), min(len(fraction), 9)
	}
	low = max(low, p.least)
	if low > p.most { // the schema knows better
		low = max(p.least, p.most-100)
	}
	high = min(high, p.most)
	if high < low {
		high = min(low+100, p.most)
	}
	unit := math.Pow10(-decimals)
	for ; high > low && unit > (high-low)/2 && decimals < 9; decimals++ {
		unit /= 10
	}
	if integer {
		unit, decimals = 1, 0
	}
	if p.multiple > 0 && (!integer || p.multiple == math.Trunc(p.multiple)) {
		unit, decimals = p.multiple, -1
	}
	at := func(k float64) jsontext.Value { return strconv.AppendFloat(nil, k*unit, 'f', decimals, 64) }
	first, last := math.Floor(low/unit), math.Ceil(high/unit)
	if float(at(first)) < low {
		first++
	}
	if float(at(last)) > high {
		last--
	}
	return at(first + math.Floor(g.Float64()*max(last-first+1, 1)))
}

// text makes a string.
func (g *generator) text(p *place) string {
	named, known := func() string { return g.expand(p.hint) }, func() string { return textOf(g.known(p, `"`)) }
	if strings.HasPrefix(p.hint, "{Words}") { // the records know better
		named, known = known, named
	}
	for _, way := range []func() string{func() string { return g.time(p) }, func() string { return g.expand(p.form) }, named, known,
		func() string { return g.match(p.pattern) }, func() string { return textOf(pick(g, p.examples)) }, func() string { return g.words(1+g.IntN(3), false) }} {
		for range tries {
			s := way()
			if n := utf8.RuneCountInString(s); s == "" {
				break
			} else if n >= p.shortest && n <= p.longest && !slices.ContainsFunc(p.patterns, func(re *regexp.Regexp) bool { return !re.MatchString(s) }) {
				return s
			}
		}
	}
	if p.pattern != "" { // the length is wrong then, and the rule says so
		return g.match(p.pattern)
	}
	s := g.words(1+p.shortest/2, false) // each has more than two letters, with the space
	return strings.ReplaceAll(s[:min(len(s), max(p.shortest, min(p.longest, 20)))], " ", "-")
}

// match returns a string that an expression matches, apart from its assertions.
func (g *generator) match(expression string) string {
	re, _ := syntax.Parse(expression, syntax.Perl) // it was compiled before, or is a hint
	return g.walk(re)
}

func (g *generator) walk(re *syntax.Regexp) string {
	var b []byte
	least, most, subs := 1, 1, re.Sub
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
		least, most = 0, 3
	case syntax.OpPlus:
		most = 5
	case syntax.OpQuest:
		least = 0
	case syntax.OpRepeat:
		least, most = re.Min, re.Max
		if most < 0 {
			most = least + 4
		}
	}
	for range least + g.IntN(most-least+1) {
		for _, sub := range subs {
			b = append(b, g.walk(sub)...)
		}
	}
	return string(b)
}

// letter returns a character of ranges, a letter or a digit if they have one.
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

// float returns a number; one that is too large is infinite.
func float(v jsontext.Value) float64 {
	f, _ := strconv.ParseFloat(string(v), 64)
	return f
}

// textOf returns the text of a string, "" for nil.
func textOf(v jsontext.Value) string {
	text, _ := rawjson.Text(v)
	return text
}

func quote(s string) jsontext.Value { return rawjson.AppendQuote(nil, s) }

// pick returns one of a list, the zero value of none.
func pick[T any](g *generator, list []T) (one T) {
	if len(list) > 0 {
		one = list[g.IntN(len(list))]
	}
	return one
}
