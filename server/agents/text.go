package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The limits of an answer, whose reader has little room.
const (
	maxText  = 24 << 10 // bytes
	maxValue = 300      // bytes of a string in a list
)

// clip cuts an answer that is too long.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return fmt.Sprintf("%s\n… %d more bytes: ask for less", strings.ToValidUTF8(s[:maxText], ""), len(s)-maxText)
}

// list returns records on a line each, with long strings cut, as many as an answer can
// have, and their number.
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

// short returns a JSON text with its long strings cut.
func short(text []byte) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			for ; text[end] != '"'; end++ {
				if text[end] == '\\' {
					end++
				}
			}
			end++
		}
		var s string
		if end-i > maxValue && json.Unmarshal(text[i:end], &s) == nil {
			cut, _ := json.Marshal(fmt.Sprintf("%s… (%d bytes; read it with id)", strings.ToValidUTF8(s[:min(len(s), maxValue-60)], ""), len(s)))
			b.Write(cut)
		} else {
			b.Write(text[i:end])
		}
		i = end
	}
	return b.String()
}

// write writes what a change does to the fields of a record.
func (c change) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s %s/%s", c.Op, c.Collection, c.ID)
	var before, after map[string]json.RawMessage
	if json.Unmarshal(c.Before, &before) != nil || json.Unmarshal(c.After, &after) != nil || before == nil || after == nil {
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

// Fault returns a problem document as an error of a line for each fault.
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

// recordTypes returns the types of stored and of new records without comments. The others
// follow from them.
func recordTypes(text string) string {
	var b strings.Builder
	keep := false
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "export "); ok {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "type "), " ")
			keep = !strings.HasSuffix(name, "Replace") && !strings.HasSuffix(name, "Patch") && !strings.HasSuffix(name, "Problem") && !strings.HasPrefix(name, "Page<") &&
				!strings.Contains(" Database Fault interface ", " "+name+" ")
		}
		if t := strings.TrimSpace(line); keep && t != "" && !strings.HasPrefix(t, "/*") && !strings.HasPrefix(t, "*") && !strings.HasPrefix(t, "//") {
			b.WriteString(strings.TrimPrefix(line, "export "))
		}
	}
	return b.String()
}
