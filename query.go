package pickup

// A Query says which records of a collection are wanted, in which order, which
// part of the list, and what is shown of each. It is made by ParseQuery or
// ParseWhere, never changes, and holds for every snapshot.
type Query struct {
	collection string
	filter     filter // its parts all hold
	terms      int    // how many there are, at every depth
	sort       []sortKey
	paging     paging
	embeds     []*embed
	fields     *fields // nil: all
	named      []named
}

// A named is a path that the client has named, for Strict.
type named struct {
	parameter, name string
	path            path
}

// Paged reports whether q asks for a part of the list, so that an answer says
// which.
func (q *Query) Paged() bool { return q.paging.dialect != Whole }

// Embeds reports whether q puts records of other collections into those that
// are asked for.
func (q *Query) Embeds() bool { return len(q.embeds) > 0 }

// Match reports whether q wants the record. A filter on what _embed puts into
// a record sees only what is stored.
func (q *Query) Match(r *Record) bool {
	m := matcher{q: q}
	return m.match(r) && m.err == nil
}
