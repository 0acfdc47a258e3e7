package fake

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

//go:embed words.txt
var vocabulary string

// section returns the lines under a heading of the vocabulary.
func section(heading string) []string {
	_, text, _ := strings.Cut(vocabulary, "["+heading+"]\n")
	text, _, _ = strings.Cut(text, "\n\n")
	return strings.Split(strings.TrimSpace(text), "\n")
}

// hints map words in the names of fields, and formats, to values. Each line lists words, then
// the form of the values. A word counts anywhere in a name, and with a hyphen only at the end; a
// compound of two words must be the whole name. A regular expression with placeholders is for
// strings, # with bounds and decimals for numbers, and @ with days around now for times.
// Nothing leads to a real person: the domains, addresses and telephone numbers are reserved
// for examples.
var hints = section("hints")

const person = "{First} {Last}"

// people are the words for a person.
var people = section("people")

var (
	word        = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)
	placeholder = regexp.MustCompile(`\{[A-Za-z]+\}`)
)

// hintOf returns the hint for a format or for the name of a field, or "". owner is the
// singular of the collection, or the name of the outer field.
func hintOf(name, owner string) string {
	words := append(strings.Fields(strings.ToLower(strings.Join(word.FindAllString(name, -1), " "))), "")
	joined := strings.Join(words, "")
	last := words[max(len(words)-2, 0)]
	isPerson := func(w string) bool { return slices.Contains(people, w) }
	for _, hint := range hints {
		names, form, _ := strings.Cut(hint, " = ")
		isMeant := func(w string) bool {
			return w == "-"+last || w == joined || w == name || slices.Contains(words, w)
		}
		if !slices.ContainsFunc(strings.Fields(names), isMeant) {
			continue
		}
		if last == "name" && form == "{Words}" && (isPerson(owner) || slices.ContainsFunc(words, isPerson)) {
			return person
		}
		return form
	}
	if isPerson(last) {
		return person
	}
	return ""
}

// expand makes a string from a hint. It returns "" if the hint is for numbers or times.
func (g *generator) expand(hint string) string {
	if hint == "" || hint[0] == '@' || hint[0] == '#' {
		return ""
	}
	return g.fill(g.match(hint))
}

// fill replaces placeholders.
func (g *generator) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		switch name {
		case "{words}", "{Words}":
			return g.words(2+g.IntN(3), name == "{Words}")
		case "{noun}":
			return pick(g, nouns)
		case "{Street}":
			return pick(g, streets)
		}
		if g.who == nil {
			g.who = g.somebody()
		}
		return g.who[name]
	})
}

// somebody returns a person and a city, by placeholder.
func (g *generator) somebody() map[string]string {
	first := pick(g, firstNames)
	last := pick(g, lastNames)
	city := strings.Split(pick(g, cities), "|")
	digits := strconv.Itoa(100 + g.IntN(900))
	return map[string]string{
		"{First}":   first,
		"{first}":   strings.ToLower(first),
		"{Last}":    last,
		"{last}":    strings.ToLower(last),
		"{City}":    city[0],
		"{Country}": city[1],
		"{lat}":     city[2] + digits,
		"{lon}":     city[3] + digits,
	}
}

// layouts are the layouts of formats.
var layouts = map[string]string{
	"date-time":     time.RFC3339,
	"iso-date-time": time.RFC3339,
	"date":          time.DateOnly,
	"time":          "15:04:05Z",
}

// time returns a time between the times of two records, or within the days of the hint, in the
// layout of the records or of the format. It returns "" if no layout is known.
func (g *generator) time(m *fieldModel) string {
	from, layout := parseTime(g.known(m, `"`))
	to, other := parseTime(g.known(m, `"`))
	if layout == "" || other == "" {
		first := -30
		last := 30
		n, _ := fmt.Sscanf(m.hint, "@%d %d", &first, &last)
		layout = layouts[m.format]
		if layout == "" && n == 2 && m.formatHint == "" {
			layout = time.RFC3339
			if last < -30 || strings.HasSuffix(strings.ToLower(m.name), "date") {
				layout = time.DateOnly
			}
		}
		from = g.now.AddDate(0, 0, first)
		to = g.now.AddDate(0, 0, last)
	}
	if to.Before(from) {
		from, to = to, from
	}
	const step = 5 * time.Minute
	steps := int64(to.Sub(from) / step)
	return from.Add(time.Duration(g.Int64N(steps+1)) * step).Format(layout)
}

// parseTime parses a string as a time. It returns an empty layout for other strings.
func parseTime(v jsontext.Value) (_ time.Time, layout string) {
	text := textOf(v)
	for _, layout := range []string{
		"2006-01-02T15:04:05.000Z07:00", time.RFC3339, "2006-01-02T15:04:05", time.DateOnly,
	} {
		if len(text) < 10 || text[4] != '-' || strings.Contains(layout, ".") != strings.Contains(text, ".") {
			continue
		}
		if t, err := time.Parse(layout, text); err == nil {
			return t, layout
		}
	}
	return time.Time{}, ""
}

// periods are parts of the names of two fields. The second field must be later, or greater.
var periods = [][2]string{
	{"start", "end"}, {"from", "to"}, {"begin", "end"}, {"pickup", "dropoff"}, {"departure", "arrival"},
	{"checkin", "checkout"}, {"opened", "closed"}, {"created", "updated"}, {"min", "max"},
}

// after returns the end of a period: to if possible, otherwise a value soon after from. Times
// must be less than a day apart.
func (g *generator) after(from, to jsontext.Value) jsontext.Value {
	start, layout := parseTime(from)
	end, other := parseTime(to)
	switch {
	case from.Kind() == '0' && to.Kind() == '0' && float(from) > float(to):
		return from
	case layout == "" || other == "" || end.After(start) && end.Sub(start) < 24*time.Hour:
		return to
	case other == time.DateOnly:
		return quote(start.AddDate(0, 0, 1+g.IntN(14)).Format(other))
	}
	return quote(start.Add(time.Duration(2+g.IntN(24)) * 5 * time.Minute).Format(other))
}

// words returns n words, the first of them perhaps with a capital.
func (g *generator) words(n int, capital bool) string {
	var text string
	for i := range n {
		text += " " + pick(g, [][]string{adjectives, nouns}[i%2])
	}
	if capital {
		return strings.ToUpper(text[1:2]) + text[2:]
	}
	return text[1:]
}

var (
	firstNames = section("first names")
	lastNames  = section("last names")
	adjectives = section("adjectives")
	nouns      = section("nouns")
	streets    = section("streets")
	cities     = section("cities") // with countries, latitudes and longitudes
)
