package document

// push appends an item, sets the gap before the item and returns the item. The gap is split by the
// separator sep or, if sep is nil, by the separator of the list. s is the style for the first item of
// an empty list.
func (l *list) push(it item, s style, sep []byte) *item {
	switch {
	case len(l.items) == 0 && sep == nil:
		first, end := s.brackets(l.open)
		it.gap, l.tail = s.fill(l.tail, first, end)
	case len(l.items) == 0:
		it.gap, l.tail = gapInFront(l.tail, sep)
	case sep == nil:
		it.gap, l.tail = splitGap(l.tail, l.separator(s))
	default:
		it.gap, l.tail = splitGap(l.tail, sep)
	}
	l.items = append(l.items, it)
	return &l.items[len(l.items)-1]
}

// insert adds items to l, each before the item at the given index, and calls lay for each new
// item after setting the gap.
func (l *list) insert(added map[int][]item, s style, lay func(it *item)) {
	var sep []byte
	if len(l.items) > 0 {
		sep = l.separator(s)
	}
	grown := &list{open: l.open, tail: *l.gap(0)}
	for i := 0; ; i++ {
		if i == len(l.items) {
			sep = nil
		}
		for _, it := range added[i] {
			lay(grown.push(it, s, sep))
		}
		if i == len(l.items) {
			break
		}
		it := l.items[i]
		it.gap, grown.tail = grown.tail, *l.gap(i + 1)
		grown.items = append(grown.items, it)
	}
	*l = *grown
}
