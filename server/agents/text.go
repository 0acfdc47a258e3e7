package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"pickup/internal/rawjson"
)

// The limits of a response. Agents have little room for text.
const (
	maxText  = 24 << 10 // bytes
	maxValue = 300      // bytes of a string in a list
)

// clip cuts a long response.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return fmt.Sprintf("%s\n… %d more bytes: ask for less", strings.ToValidUTF8(s[:maxText], ""), len(s)-maxText)
}

// list returns records, one on each line, with long strings cut, and the number of records that fit
// into a response.
func list(records []json.RawMessage) (lines string, shown int) {
	var b strings.Builder
	for _, r := range records {
		line := short(r)
		if b.Len()+len(line) >= maxText-1024 && shown > 0 {
			break
		}
		b.WriteString(line + "\n")
		shown++
	}
	return b.String(), shown
}

// short returns a JSON text with the long strings cut.
func short(text []byte) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			end = rawjson.SkipString(text, i)
		}
		var s string
		if end-i > maxValue && json.Unmarshal(text[i:end], &s) == nil {
			start := strings.ToValidUTF8(s[:min(len(s), maxValue-60)], "")
			cut, _ := json.Marshal(fmt.Sprintf("%s… (%d bytes; read it with id)", start, len(s)))
			b.Write(cut)
		} else {
			b.Write(text[i:end])
		}
		i = end
	}
	return b.String()
}

// write writes a change, with the values of the changed fields before and after.
func (c change) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s %s/%s", c.Op, c.Collection, c.ID)
	var before, after map[string]json.RawMessage
	_ = json.Unmarshal(c.Before, &before) // an error leaves nil
	_ = json.Unmarshal(c.After, &after)
	if before == nil || after == nil {
		fmt.Fprintf(b, " %s\n", short(c.After))
		return
	}
	both := maps.Clone(before)
	maps.Copy(both, after)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if !bytes.Equal(before[name], after[name]) {
			fmt.Fprintf(b, " %s: %s -> %s;", name, short(before[name]), short(after[name]))
		}
	}
	b.WriteByte('\n')
}

// Fault returns a problem document as an error with a line for each fault.
func Fault(document []byte) error {
	var p struct {
		Title, Detail string
		Status        int
		Errors        []struct{ Pointer, Member, Parameter, Detail string }
	}
	if json.Unmarshal(document, &p) != nil || p.Detail == "" {
		return errors.New(string(document))
	}
	lines := []string{fmt.Sprintf("%d %s: %s", p.Status, p.Title, p.Detail)}
	for _, f := range p.Errors {
		if f.Parameter == "" || !strings.Contains(p.Detail, f.Parameter) {
			lines = append(lines, f.Pointer+f.Member+f.Parameter+": "+f.Detail)
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// otherTypes matches the declarations of types that follow from the types of records, or that
// agents do not need.
var otherTypes = regexp.MustCompile(`^export (type )?(\S*(Replace|Patch|Problem)|Page<\S*|Database|Fault|interface) `)

// comment matches a line without code.
var comment = regexp.MustCompile(`^\s*(/\*|\*|//|$)`)

// recordTypes returns the types of stored and of new records without comments.
func recordTypes(text string) string {
	var b strings.Builder
	keep := false
	for line := range strings.Lines(text) {
		declaration, exported := strings.CutPrefix(line, "export ")
		if exported {
			keep = !otherTypes.MatchString(line)
		}
		if keep && !comment.MatchString(line) {
			b.WriteString(declaration)
		}
	}
	return b.String()
}
