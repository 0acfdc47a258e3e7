package document

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A listMerge merges lists whose items have keys. The result is one side's list with the
// changes of the other side.
type listMerge struct {
	*merger
	path               []string
	base, ours, theirs *list

	kept, other *list // the list that is changed, and the one with the changes
	keepsTheirs bool
	ordered     bool // the items of all lists are in the same order

	comments  struct{ base, kept, other commentMap }
	baseCount map[string]int // the comments of the base, counted by their texts
}

// mergeLists merges lists whose items have keys.
func (m *merger) mergeLists(path []string, base, ours, theirs *list, s style) []byte {
	l := &listMerge{merger: m, path: path, base: base, ours: ours, theirs: theirs}
	l.chooseOrder()
	l.comments.base = base.owned()
	l.comments.kept = l.kept.owned()
	l.comments.other = l.other.owned()
	l.baseCount = l.comments.base.count()
	s = s.in(l.kept)

	result := &list{
		open:  l.kept.open,
		items: slices.Clone(l.kept.items),
		tail:  l.kept.tail,
	}
	l.mergeGaps(result)
	deleted := l.mergeItems(result, s)
	l.insertAdded(result, s)
	if len(deleted) > 0 {
		result.remove(func(i int) bool { return deleted[result.items[i].key] })
	}
	if len(l.comments.base)+len(l.comments.kept)+len(l.comments.other) > 0 {
		l.setComments(result, s)
	}
	return result.text()
}

// chooseOrder keeps the list with the order or the layout of the result.
func (l *listMerge) chooseOrder() {
	base := commonKeys(l.base, l.ours, l.theirs)
	ours := commonKeys(l.ours, l.base, l.theirs)
	theirs := commonKeys(l.theirs, l.base, l.ours)
	oursMoved := !slices.Equal(ours, base)
	theirsMoved := !slices.Equal(theirs, base)
	l.ordered = !oursMoved && !theirsMoved
	if !oursMoved {
		l.keepsTheirs = l.theirsRelaid || theirsMoved
	} else if theirsMoved && l.ours.open == '[' && !slices.Equal(theirs, ours) {
		l.conflict(l.path, "both changed the order", nil, nil)
		l.keepsTheirs = l.theirsWin
	}
	l.kept = l.ours
	l.other = l.theirs
	if l.keepsTheirs {
		l.kept, l.other = l.other, l.kept
	}
}

// commonKeys returns the keys that are in all three lists, in the order of l.
func commonKeys(l, b, c *list) (keys []string) {
	for _, it := range l.items {
		if b.index(it.key) >= 0 && c.index(it.key) >= 0 {
			keys = append(keys, it.key)
		}
	}
	return keys
}

// mergeGaps takes the gaps that only the other side changed, between items that are
// neighbors in all three lists.
func (l *listMerge) mergeGaps(result *list) {
	for i := range len(l.kept.items) + 1 {
		before := l.kept.key(i - 1)
		key := l.kept.key(i)
		inBase := l.base.gapBetween(before, key)
		inOther := l.other.gapBetween(before, key)
		gap := result.gap(i)
		if inBase != nil && inOther != nil && bytes.Equal(*gap, *inBase) {
			*gap = *inOther
		}
	}
}

// gapBetween returns the gap between the items with these keys, or nil if they are not neighbors.
func (l *list) gapBetween(before, key string) *[]byte {
	i := l.index(key)
	if i < 0 || l.key(i-1) != before {
		return nil
	}
	return l.gap(i)
}

// mergeItems merges the items of the kept list with the items of the other list. It returns
// the keys of the items to delete.
func (l *listMerge) mergeItems(result *list, s style) (deleted map[string]bool) {
	deleted = make(map[string]bool)
	for i := range l.kept.items {
		kept := &l.kept.items[i]
		other := l.other.item(kept.key)
		if other == nil {
			deleted[kept.key] = l.deletes(kept, l.comments.kept, !l.keepsTheirs)
			continue
		}
		if bytes.Equal(kept.value, other.value) && bytes.Equal(kept.label, other.label) {
			continue
		}
		if l.keepsTheirs {
			l.mergeItem(&result.items[i], other, kept, s)
		} else {
			l.mergeItem(&result.items[i], kept, other, s)
		}
	}
	return deleted
}

// mergeItem merges an item that both sides have.
func (l *listMerge) mergeItem(result, ours, theirs *item, s style) {
	path := append(l.path, ours.key)
	base := cmp.Or(l.base.item(ours.key), new(item))
	if base.value == nil && l.kept.open == '[' && !equal(ours.value, theirs.value) {
		result.value = l.conflict(path, "both added it", ours.value, theirs.value)
		return
	}
	oneChanged := sameText(base.value, ours.value) || sameText(base.value, theirs.value)
	now := l.questionAbout(path)
	if now != "" && !oneChanged && !equal(ours.value, theirs.value) {
		result.value = l.conflict(path, "both changed it, and "+now, ours.value, theirs.value)
		return
	}
	result.value = l.mergeValue(path, base, ours, theirs, s.at(result.gap))
	result.label = l.mergeAround(path, "in front of the value", base.label, ours.label, theirs.label)
}

// deletes reports whether to delete an item of one side that the other side, theirs if
// byTheirs is set, does not have.
func (l *listMerge) deletes(it *item, comments commentMap, byTheirs bool) bool {
	was := l.base.item(it.key)
	if was == nil {
		return false // it is new
	}
	if sameText(was.value, it.value) && !comments.hasNew(it.key, l.baseCount) {
		return true
	}
	return l.deletionConflict(append(l.path, it.key), byTheirs)
}

// insertAdded inserts the items that only the other side has.
func (l *listMerge) insertAdded(result *list, s style) {
	added := l.added()
	if len(added) == 0 {
		return
	}
	s = s.in(result)
	ex := l.kept.examples()
	result.insert(added, s, func(it *item) {
		v := rawjson.Blanked(it.value)
		if l.layoutsDiffer && len(commentsIn(it.value)) == 0 && jsontext.Value(v).IsValid() {
			it.value = s.at(it.gap).lay(v, ex)
		}
	})
}

// added returns the items that only the other side has, by the index of the next kept item.
// An added item follows the same item as on the other side. Where both sides have added items,
// the items of ours come first.
func (l *listMerge) added() map[int][]item {
	added := make(map[int][]item)
	keptSlots := l.slots(l.kept)
	otherSlots := l.slots(l.other)
	at := 0
	for n, it := range l.other.items {
		if i := l.kept.index(it.key); i >= 0 {
			i++
			if i > at || !l.ordered {
				at = i
			}
			continue
		}
		if l.deletes(&it, l.comments.other, l.keepsTheirs) {
			continue
		}
		for at < len(l.kept.items) && l.precedes(at, keptSlots[at], otherSlots[n]) {
			at++
		}
		added[at] = append(added[at], it)
	}
	return added
}

// precedes reports whether the item at i in the kept list, in slot, comes before an added
// item in the slot of the other list.
func (l *listMerge) precedes(i, slot, other int) bool {
	if slot != other {
		return slot < other
	}
	return !l.keepsTheirs && l.other.index(l.kept.items[i].key) < 0
}

// slots returns, for each item of a side, the position among the items of the base: an odd
// number, or for an added item the even number before the next item of the base. If the orders
// differ, all slots are 0.
func (l *listMerge) slots(side *list) []int {
	slots := make([]int, len(side.items))
	if !l.ordered {
		return slots
	}
	next := 2 * len(l.base.items)
	for i, it := range slices.Backward(side.items) {
		slots[i] = next
		if at := l.base.index(it.key); at >= 0 {
			slots[i] = 2*at + 1
			next = 2 * at
		}
	}
	return slots
}

// mergedComments returns the comments that the merge of two lists should have.
func (l *listMerge) mergedComments(merged *list) commentMap {
	all := make(commentMap)
	for i := range len(merged.items) + 1 {
		trail, lead := merged.anchors(i)
		for _, a := range []anchor{trail, lead} {
			kept := l.comments.kept[a]
			other := l.comments.other[a]
			switch {
			case l.kept.index(a.key) < 0:
				all[a] = other
			case l.other.index(a.key) < 0:
				all[a] = kept
			default:
				all[a] = mergeComments(l.comments.base[a], kept, other)
			}
		}
	}
	return all
}

// setComments replaces the comments in the merge of two lists.
func (l *listMerge) setComments(merged *list, s style) {
	want := l.mergedComments(merged)
	wanted := want.count()
	kept := l.comments.kept.count()
	other := l.comments.other.count()
	// A comment that has moved to another item must not be duplicated. A comment of both
	// sides stays, even if no item should have that comment.
	used := make(map[string]int)
	choose := func(a anchor, now []string) (all []string) {
		for _, text := range want[a] {
			used[text]++
			most := max(kept[text], other[text], kept[text]+other[text]-l.baseCount[text])
			if used[text] <= most {
				all = append(all, text)
			}
		}
		for _, text := range now {
			if kept[text] > 0 && other[text] > 0 && wanted[text] == 0 {
				all = append(all, text)
			}
		}
		return all
	}
	for i := range len(merged.items) + 1 {
		before, after := merged.anchors(i)
		hasTrail, hasLead := merged.commentsAt(i)
		trail := choose(before, hasTrail)
		lead := choose(after, hasLead)
		if !slices.Equal(trail, hasTrail) || !slices.Equal(lead, hasLead) {
			gap := merged.gap(i)
			*gap = s.layComments(withoutComments(*gap), trail, lead, i == len(merged.items))
		}
	}
}
