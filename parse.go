package pickup

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Limits of a query, as the HTTP contract states them.
const (
	maxTerms  = 32    // different parameters
	maxValues = 1_000 // repeats of one parameter
)

// A QueryError says which parameter of a query cannot be read.
type QueryError struct {
	Parameter string // as it was spelled
	Detail    string // what is wrong and what would be right, one sentence
}

func (e *QueryError) Error() string { return e.Parameter + ": " + e.Detail }

// ParseQuery reads the query part of a URL, without its question mark:
// parameters name=value, where name is a member, or a path of members with
// dots between them and indexes in brackets. Repeats of a name are
// alternatives; different names must all hold. A name that occurs in the
// collection as it stands is that member, whatever it looks like. An error is
// a *QueryError.
func (s *Snapshot) ParseQuery(collection, rawQuery string) (*Query, error) {
	q := new(Query)
	byName := make(map[string]int) // index into q.terms
	count := make(map[string]int)
	for part := range strings.SplitSeq(rawQuery, "&") {
		if part == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return nil, &QueryError{rawName, "the percent signs of a URL are followed by two hexadecimal digits"}
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return nil, &QueryError{name, "the percent signs of a URL are followed by two hexadecimal digits"}
		}
		if canonical, ok := s.schema.Alias(collection, name); ok {
			name = canonical
		}
		at, seen := byName[name]
		if !seen {
			path, ok, err := s.path(collection, name)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if at = len(q.terms); at == maxTerms {
				return nil, &QueryError{name, fmt.Sprintf("a query has at most %d different parameters", maxTerms)}
			}
			byName[name] = at
			q.terms = append(q.terms, term{path: path})
		}
		if count[name]++; count[name] > maxValues {
			return nil, &QueryError{name, fmt.Sprintf("a parameter is repeated at most %d times", maxValues)}
		}
		q.terms[at].keys = append(q.terms[at].keys, queryKeys(value)...)
	}
	return q, nil
}

// operators are what may stand behind a name, after a colon or an underscore.
var operators = []string{
	"eq", "ne", "lt", "lte", "gt", "gte", "in",
	"contains", "startsWith", "endsWith", "like", "exists",
}

// path returns where a parameter's name leads. It reports false for one that
// is to be ignored.
func (s *Snapshot) path(collection, name string) (path []step, ok bool, err error) {
	plain := !strings.ContainsAny(name, "_:.[")
	if plain || s.Occurs(collection, name) {
		return []step{{name, -1}}, true, nil
	}
	if name == "_" { // what keeps caches from answering
		return nil, false, nil
	}
	if strings.HasPrefix(name, "_") {
		return nil, false, &QueryError{name, "there is no such parameter, and no record has a member of this name"}
	}
	if _, op, found := strings.Cut(name, ":"); found {
		return nil, false, &QueryError{name, fmt.Sprintf("there is no operator %q: a filter is name=value", op)}
	}
	if i := strings.LastIndexByte(name, '_'); i > 0 && slices.Contains(operators, name[i+1:]) {
		return nil, false, &QueryError{name, fmt.Sprintf("there is no operator %q, and no record has a member of this name", name[i+1:])}
	}
	return parsePath(name), true, nil
}

// parsePath reads a.b, tags[0] and tags.0.
func parsePath(name string) []step {
	var path []step
	for part := range strings.SplitSeq(name, ".") {
		first := true
		for piece := range strings.SplitSeq(part, "[") {
			if !first {
				piece = strings.TrimSuffix(piece, "]")
			}
			index := -1
			if n, err := strconv.Atoi(piece); err == nil && digits(piece) {
				index = n
			}
			path = append(path, step{piece, index})
			first = false
		}
	}
	return path
}
