package source

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// CSV returns the records of a CSV text for the collection called name. CSV calls wrong for
// each wrong line.
//
// The first line has the names of the fields; from.city is the field city of the object from.
// The separator is a comma, a semicolon, a tab, or the character in a line such as sep=; before
// the names. kindOf returns the kind of the values at a path: a string, a number, true, or 0
// for an unknown kind. A column of an unknown kind is text unless all of its values are
// numbers, or all are true or false. An empty value is a missing field.
func CSV(
	name string, text []byte, kindOf func(path []string) jsontext.Kind, wrong func(line int, detail string),
) (items []*Item) {
	t := readTable(text, wrong)
	paths := t.paths(wrong)
	if len(paths) < len(t.header) {
		return nil
	}

	kinds := make([]jsontext.Kind, len(paths))
	for i, path := range paths {
		kinds[i] = cmp.Or(kindOf(path), t.kind(i))
	}
	for n, row := range t.rows {
		value := jsontext.Value("{}")
		for i, cell := range row {
			if cell != "" {
				value = set(value, paths[i], cellValue(cell, kinds[i]))
			}
		}
		items = append(items, &Item{
			Field: name,
			Value: value,
			line:  t.lines[n],
		})
	}
	if items == nil {
		empty := &Item{
			Field: name,
			Whole: true,
			Value: []byte("[]"),
			line:  1,
		}
		return []*Item{empty}
	}
	return items
}

// paths returns the path of each column, up to the first header that is not the name of a field.
func (t *table) paths(wrong func(line int, detail string)) (paths [][]string) {
	for i, field := range t.header {
		field = strings.TrimSpace(field)
		if strings.ContainsFunc(field, unicode.IsControl) {
			wrong(t.at, fmt.Sprintf("column %d: %q has a line break or another control character", i+1, field))
			return paths
		}
		path := strings.Split(field, ".")
		if slices.Contains(path, "") || len(path) > 16 || overlaps(path, paths) {
			wrong(t.at, fmt.Sprintf("column %d: %q is not the name of one field, such as city or from.city, "+
				"or another column has it", i+1, field))
			return paths
		}
		paths = append(paths, path)
	}
	return paths
}

// overlaps reports whether a path and one of others are equal, or one is the start of the
// other.
func overlaps(path []string, others [][]string) bool {
	return slices.ContainsFunc(others, func(other []string) bool {
		n := min(len(path), len(other))
		return slices.Equal(path[:n], other[:n])
	})
}

// kind returns the kind of the values of a column according to their text.
func (t *table) kind(column int) jsontext.Kind {
	all := func(match *regexp.Regexp) bool {
		return !slices.ContainsFunc(t.rows, func(row []string) bool {
			return row[column] != "" && !match.MatchString(row[column])
		})
	}
	if all(number) {
		return '0'
	}
	if all(boolean) {
		return 't'
	}
	return '"'
}

// cellValue returns the value of a cell: a string if the text does not have the kind.
func cellValue(cell string, kind jsontext.Kind) jsontext.Value {
	if m := anyNumber.FindStringSubmatch(cell); m != nil && kind == '0' {
		return jsontext.Value(m[1] + m[2])
	}
	if kind == 't' && boolean.MatchString(cell) {
		return jsontext.Value(strings.ToLower(cell))
	}
	return rawjson.AppendQuote(nil, cell)
}

// anyNumber matches numbers of JSON, also with leading zeros.
var anyNumber = regexp.MustCompile(`^(-?)0*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$`)

// A table has the cells of a CSV file.
type table struct {
	header []string
	at     int // the line of header
	rows   [][]string
	lines  []int // the lines of rows
}

// readTable reads a CSV text and calls wrong for each wrong line.
func readTable(text []byte, wrong func(line int, detail string)) (t table) {
	text = withLineFeeds(bytes.TrimPrefix(text, []byte("\ufeff")))
	first, _, _ := bytes.Cut(unquoted(text), []byte("\n"))
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	count := func(c rune) int { return bytes.Count(first, []byte(string(c))) }
	r.Comma = slices.MaxFunc([]rune{',', ';', '\t'}, func(a, b rune) int {
		return cmp.Compare(count(a), count(b))
	})
	if m := separatorLine.FindSubmatch(text); m != nil {
		r.Comma = rune(m[1][0])
		r.Read() // this line
	}
	for {
		row, err := r.Read()
		if syntax, ok := errors.AsType[*csv.ParseError](err); ok {
			wrong(syntax.StartLine, syntax.Err.Error()) // an open quote extends to the end of the file
			return t
		}
		if err == io.EOF {
			return t
		}
		line, _ := r.FieldPos(0)
		switch {
		case slices.ContainsFunc(row, func(s string) bool { return !utf8.ValidString(s) }):
			wrong(line, "this is not UTF-8: save the file as CSV UTF-8")
		case t.header == nil:
			t.header = row
			t.at = line
		case strings.Join(row, "") == "":
			// A spreadsheet leaves such a row after a deletion.
		case len(row) != len(t.header):
			values := spell.Count(len(row), "value")
			names := spell.Count(len(t.header), "name")
			wrong(line, fmt.Sprintf("%s; the header has %s", values, names))
		default:
			t.rows = append(t.rows, row)
			t.lines = append(t.lines, line)
		}
	}
}

// unquoted returns text without its quoted parts.
func unquoted(text []byte) []byte { return regexp.MustCompile(`"[^"]*"`).ReplaceAll(text, nil) }

// separatorLine matches a first line with the separator, as Excel writes it.
var separatorLine = regexp.MustCompile("^(?i)\"?sep=([\t !#-/:-@[-`{-~])\"?\r?(?:\n|$)")

// withLineFeeds returns text with a line feed for each lone carriage return, with which Excel on
// a Mac ends lines. Quoted values stay as they are.
func withLineFeeds(text []byte) []byte {
	text = bytes.Clone(text)
	quoted := false
	for i, c := range text {
		quoted = quoted != (c == '"')
		if c == '\r' && !quoted && !bytes.HasPrefix(text[i+1:], []byte("\n")) {
			text[i] = '\n'
		}
	}
	return text
}

// number matches numbers that every client reads exactly. Digits after a leading zero are a
// code, not a number.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$`)

var boolean = regexp.MustCompile(`^(?i:true|false)$`)

// set adds a value at a path of an object.
func set(object jsontext.Value, path []string, value []byte) jsontext.Value {
	if len(path) > 1 {
		inner, ok := rawjson.Member(object, path[0])
		if !ok {
			inner = jsontext.Value("{}")
		}
		value = set(inner, path[1:], value)
	}
	field := rawjson.AppendMember([]byte("{"), path[0], value)
	return rawjson.MergeMembers(object, append(field, '}'))
}
