package document

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// maxConflicts is the number of differences that explainConflicts names.
const maxConflicts = 20

// explainConflicts describes the merge conflicts in data, a text with git's markers: by record
// and field, with both values, if both sides parse. It returns "" for a text without markers.
func (f form) explainConflicts(data []byte) string {
	texts, labels, n := splitConflicts(data)
	if n == 0 {
		return ""
	}
	var found []string
	ours := f.parse(texts[0], nil)
	theirs := f.parse(texts[1], nil)
	if ours != nil && theirs != nil {
		compare(nil, ours.memberList(), theirs.memberList(), func(path []string, a, b *item) {
			found = append(found, fmt.Sprintf("%s is %s (%s) or %s (%s)",
				strings.Join(path, "/"), show(a), labels[0], show(b), labels[1]))
		})
	}
	if more := len(found) - maxConflicts; more > 0 {
		found = append(found[:maxConflicts], fmt.Sprintf("and %d more", more))
	}
	reason := spell.Count(n, "merge conflict") + "; choose a side of each and remove the markers"
	if len(found) > 0 {
		reason += ": " + strings.Join(found, "; ")
	}
	return reason
}

// commitHash matches a whole commit hash, SHA-1 or SHA-256.
var commitHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// splitConflicts returns the sides of a text with git's markers, what git calls them, and
// the number of conflicts.
func splitConflicts(data []byte) (texts [2][]byte, labels [2]string, n int) {
	in := [2]bool{true, true} // whether the line is a line of each side
	for line := range bytes.Lines(data) {
		label := strings.TrimSpace(strings.TrimLeft(string(line), "<|=>"))
		if commitHash.MatchString(label) {
			label = label[:7] // as git abbreviates it
		}
		switch marker := string(line[:min(7, len(line))]); {
		case marker == "<<<<<<<":
			in = [2]bool{true, false}
			labels[0] = label
			n++
		case marker == "|||||||": // the base, with merge.conflictStyle diff3
			in[0] = false
		case marker == "=======" && !in[1]:
			in = [2]bool{false, true}
		case marker == ">>>>>>>":
			in = [2]bool{true, true}
			labels[1] = label
		default:
			for i := range texts {
				if in[i] {
					texts[i] = append(texts[i], line...)
				}
			}
		}
	}
	return texts, labels, n
}

// compare calls differ for the fields in which two lists differ. If only one list has an item,
// the other item is nil.
func compare(path []string, ours, theirs *list, differ func(path []string, our, their *item)) {
	for i, it := range slices.Concat(ours.items, theirs.items) {
		at := append(path, it.key)
		our := ours.item(it.key)
		their := theirs.item(it.key)
		if our == nil || their == nil {
			differ(at, our, their)
			continue
		}
		if i >= len(ours.items) || sameValue(our.value, their.value) { // compared before, or equal
			continue
		}
		ourList := our.list()
		theirList := their.list()
		if len(path) < deepLevel && ourList.mixes(theirList) {
			compare(at, ourList, theirList, differ)
		} else {
			differ(at, our, their)
		}
	}
}

// show returns the value of an item for a message.
func show(it *item) string {
	if it == nil {
		return "absent"
	}
	if rawjson.IsNonFinite(it.value) {
		return string(it.value)
	}
	return rawjson.Show(rawjson.Compact(plain(it.value)))
}
