package fake

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// hints are what the words of names, and formats, suggest. A word counts anywhere in a name,
// with a hyphen at its end only, and two together as the whole name. A string is made of a
// regular expression with placeholders, a number of # with its bounds and decimals, and a
// time of @ with the days around now. Nothing leads to a real person: the domains, addresses
// and telephone numbers are reserved for examples.
var hints = strings.Split(`email mail idn-email = {first}\.{last}@example\.(com|org|net)
firstname givenname forename = {First}
lastname surname familyname = {Last}
username login nickname handle = {first}\.{last}
phone mobile telephone tel fax cell = \([2-9]\d\d\) 555-01\d\d
company organization organisation employer brand vendor manufacturer = {Last} (Ltd|GmbH|Inc\.|& Sons|Group|Labs|Studio)
avatar image photo picture thumbnail logo icon = https://example\.com/images/{noun}\.jpg
url uri link website homepage href iri uri-reference iri-reference uri-template = https://www\.example\.com/{noun}
birth birthday birthdate born dob = @-29000 -6600
created updated modified published registered joined = @-30 0
-at -date -time -datetime -timestamp = @-30 30
lat latitude = #{lat} {lat} 5
lon lng longitude = #{lon} {lon} 5
-city -town = {City}
-country = {Country}
street -address -location = [1-9]\d? {Street}
zip zipcode postcode postal = [1-9]\d{4}
color colour = \#[0-9a-f]{6}
uuid guid = [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
ipv4 = 192\.0\.2\.[1-9]\d
ipv6 = 2001:db8::[1-9a-f][0-9a-f]{0,3}
hostname idn-hostname = {noun}\.example\.com
duration = PT[1-5][05]M
json-pointer = /{noun}
relative-json-pointer = 0/{noun}
regex = \^{noun}\$
semver = \d\.\d\.\d
currency = USD|EUR|GBP|JPY|CHF
sku = [A-Z]{2}-\d{4}
fullname displayname = {First} {Last}
-name -title -subject -headline -label product item = {Words}
description body text content summary bio comment message note notes = {Words} {words} {words}\.
price amount cost total salary balance = #1 500 2
-age = #18 90 0
rating stars score = #1 5 1
percent percentage progress = #0 100 0
-year = #2000 2030 0
quantity count stock qty views likes = #0 200 0`, "\n")

const person = "{First} {Last}"

// people are the words for somebody who has a name.
var people = strings.Fields("user person driver author customer client employee member contact student teacher patient player friend owner guest passenger assignee reviewer")

var (
	word        = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)
	placeholder = regexp.MustCompile(`\{[A-Za-z]+\}`)
)

// hintOf returns the hint of the name of a field, or of a format; "" if there is none. owner is
// the name of what has the field.
func hintOf(name, owner string) string {
	words := append(strings.Fields(strings.ToLower(strings.Join(word.FindAllString(name, -1), " "))), "")
	joined, last := strings.Join(words, ""), words[max(len(words)-2, 0)]
	isPerson := func(w string) bool { return slices.Contains(people, w) }
	for _, hint := range hints {
		names, form, _ := strings.Cut(hint, " = ")
		if !slices.ContainsFunc(strings.Fields(names), func(w string) bool {
			return w == "-"+last || w == joined || w == name || slices.Contains(words, w)
		}) {
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

// expand makes a string of a hint, "" if it is for numbers or times.
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
			first, last, city := pick(g, firstNames), pick(g, lastNames), strings.Split(pick(g, cities), "|")
			digits := strconv.Itoa(100 + g.IntN(900))
			g.who = map[string]string{"{First}": first, "{Last}": last, "{first}": strings.ToLower(first), "{last}": strings.ToLower(last),
				"{City}": city[0], "{Country}": city[1], "{lat}": city[2] + digits, "{lon}": city[3] + digits}
		}
		return g.who[name]
	})
}

// layouts are the layouts of formats.
var layouts = map[string]string{"date-time": time.RFC3339, "iso-date-time": time.RFC3339, "date": time.DateOnly, "time": "15:04:05Z"}

// time makes a time between two of the records, or of the format or hint; "" if there is none.
func (g *generator) time(p *place) string {
	from, layout := parseTime(g.known(p, `"`))
	to, other := parseTime(g.known(p, `"`))
	if layout == "" || other == "" {
		first, last := -30, 30
		n, _ := fmt.Sscanf(p.hint, "@%d %d", &first, &last)
		if layout = layouts[p.format]; layout == "" && n == 2 && p.form == "" {
			layout = time.RFC3339
			if last < -30 || strings.HasSuffix(strings.ToLower(p.name), "date") {
				layout = time.DateOnly
			}
		}
		from, to = g.now.AddDate(0, 0, first), g.now.AddDate(0, 0, last)
	}
	if to.Before(from) {
		from, to = to, from
	}
	const step = 5 * time.Minute
	return from.Add(time.Duration(g.Int64N(int64(to.Sub(from)/step)+1)) * step).Format(layout)
}

// parseTime returns the time that a string is, and its layout, "" if it is none.
func parseTime(v jsontext.Value) (time.Time, string) {
	text := textOf(v)
	for _, layout := range []string{"2006-01-02T15:04:05.000Z07:00", time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if len(text) < 10 || text[4] != '-' || strings.Contains(layout, ".") != strings.Contains(text, ".") {
			continue
		}
		if t, err := time.Parse(layout, text); err == nil {
			return t, layout
		}
	}
	return time.Time{}, ""
}

// periods are parts of the names of two fields, the second of which is later or more.
var periods = [][2]string{{"start", "end"}, {"from", "to"}, {"begin", "end"}, {"pickup", "dropoff"}, {"departure", "arrival"},
	{"checkin", "checkout"}, {"opened", "closed"}, {"created", "updated"}, {"min", "max"}}

// after returns the end of a period, or another one if it is not after the start and within a day.
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
	firstNames = strings.Fields("Ada Alan Amara Anders Aisha Ben Bruno Carla Chen Clara Daniel Diego Elena Emma Erik Fatima Felix Grace Hana Hugo Ida Imran Ines Isla Ivan Jack Jonas Julia Kai Karen Kofi Lara Leo Lena Lucas Maria Marco Mei Mila Nadia Noah Nora Olga Omar Oscar Paula Priya Rafael Rosa Ruth Samir Sara Sofia Tariq Theo Uma Vera Victor Yuki Zoe")
	lastNames  = strings.Fields("Adler Ahmed Almeida Baker Bauer Becker Berg Bianchi Brown Campbell Castro Chen Clark Costa Diaz Dubois Evans Fischer Garcia Gomez Hansen Haddad Ito Ivanov Jensen Johnson Kaya Keller Kim Kovacs Kumar Larsen Lee Lopez Mancini Martin Meyer Moreau Mwangi Nguyen Novak Okafor Olsen Patel Park Pereira Popov Ramos Rossi Santos Sato Schmidt Silva Singh Smith Tanaka Taylor Vogel Walker Yilmaz")
	adjectives = strings.Fields("amber brave bright calm clean clear cool crisp daily early easy fresh gentle golden grand green handy happy honest huge keen kind large late light little lively local loud lucky modern narrow neat new open plain quick quiet rapid rare red round rustic sharp short silent silver simple small smart smooth soft solid sturdy sunny sweet tall tidy warm wild")
	nouns      = strings.Fields("anchor apple basket bench bottle bridge bucket cabin camera candle castle chair cloud coat coffee corner cup desk door engine feather field flower forest fountain garden glove guitar hammer harbor hat island jacket kettle lake lamp lantern letter map market mirror mountain notebook orchard paper pencil piano pillow plate river road rope school scarf shelf shoe spoon station table window")
	streets    = strings.Split("Alder Lane|Birch Road|Bridge Street|Castle Street|Cedar Avenue|Chapel Row|Church Street|Elm Street|Garden Street|Harbor Road|High Street|Hill Road|Lake View|Main Street|Maple Avenue|Market Square|Mill Lane|North Road|Oak Street|Orchard Way|Park Avenue|Pine Street|River Road|School Lane|Spring Street|Station Road|Sunset Boulevard|Union Street|Willow Way|Windsor Road", "|")
	// cities have a country, a latitude and a longitude.
	cities = strings.Split("Amsterdam|Netherlands|52.37|4.90;Athens|Greece|37.98|23.73;Auckland|New Zealand|-36.85|174.76;Bangkok|Thailand|13.76|100.50;Barcelona|Spain|41.39|2.17;Berlin|Germany|52.52|13.40;Bogotá|Colombia|4.71|-74.07;Boston|United States|42.36|-71.06;Cape Town|South Africa|-33.92|18.42;Chicago|United States|41.88|-87.63;Copenhagen|Denmark|55.68|12.57;Dublin|Ireland|53.35|-6.26;Istanbul|Türkiye|41.01|28.98;Lagos|Nigeria|6.52|3.38;Lima|Peru|-12.05|-77.04;Lisbon|Portugal|38.72|-9.14;London|United Kingdom|51.51|-0.13;Melbourne|Australia|-37.81|144.96;Mexico City|Mexico|19.43|-99.13;Montreal|Canada|45.50|-73.57;Mumbai|India|19.08|72.88;Nairobi|Kenya|-1.29|36.82;Oslo|Norway|59.91|10.75;Paris|France|48.86|2.35;Prague|Czechia|50.08|14.44;Rome|Italy|41.90|12.50;São Paulo|Brazil|-23.55|-46.63;Seoul|South Korea|37.57|126.98;Tokyo|Japan|35.68|139.69;Vienna|Austria|48.21|16.37;Warsaw|Poland|52.23|21.01;Zurich|Switzerland|47.38|8.54", ";")
)
