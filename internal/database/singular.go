package database

import (
	"strings"
	"sync"

	pluralize "github.com/gertd/go-pluralize"
)

// plurals has the rules of English spelling, which take a millisecond to build.
var plurals = sync.OnceValue(func() *pluralize.Client {
	c := pluralize.NewClient()
	for _, singular := range []string{"cache", "headache", "cookie", "guru", "saga"} { // its rules get these wrong
		c.AddIrregularRule(singular, singular+"s")
	}
	return c
})

// singulars caches what Singular has returned.
var singulars = struct {
	sync.Mutex
	byPlural map[string]string // guarded by Mutex
}{byPlural: make(map[string]string)}

const maxSingulars = 10_000

// Singular returns the name of one record of a collection, by the rules of
// English spelling: driver of drivers, category of categories, address of
// addresses. Its Id is the member by which other records refer to it, driverId
// and so on. A name that is not a plural is its own singular.
func Singular(plural string) string {
	singulars.Lock()
	defer singulars.Unlock()
	if s, ok := singulars.byPlural[plural]; ok {
		return s
	}
	// The last word of lineItems, line_items and line-items.
	i := max(0, strings.LastIndexFunc(plural, func(r rune) bool { return 'A' <= r && r <= 'Z' || r == '_' || r == '-' }))
	s := plural[:i] + plurals().Singular(plural[i:])
	if s == "" {
		s = plural // "s"
	}
	if len(singulars.byPlural) >= maxSingulars {
		clear(singulars.byPlural)
	}
	singulars.byPlural[plural] = s
	return s
}
