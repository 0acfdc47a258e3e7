package spell

import (
	"strings"
	"sync"

	pluralize "github.com/gertd/go-pluralize"
)

// plurals returns the rules of English plurals. Compiling them takes a millisecond.
var plurals = sync.OnceValue(func() *pluralize.Client {
	c := pluralize.NewClient()
	for _, singular := range []string{"cache", "headache", "cookie", "guru", "saga"} { // it gets these singulars wrong
		c.AddIrregularRule(singular, singular+"s")
	}
	return c
})

var singulars sync.Map // results of Singular, by its argument

// Singular returns the singular of an English plural: driver for drivers, category
// for categories, address for addresses. Followed by Id, as in driverId, it is the
// field by which other records refer to one of the collection. Other names are
// returned unchanged.
func Singular(plural string) string {
	if s, ok := singulars.Load(plural); ok {
		return s.(string)
	}
	// The last word of lineItems, line_items and line-items.
	i := max(0, strings.LastIndexFunc(plural, func(r rune) bool { return 'A' <= r && r <= 'Z' || r == '_' || r == '-' }))
	s := plural[:i] + plurals().Singular(plural[i:])
	if s == "" {
		s = plural // "s"
	}
	singulars.Store(plural, s)
	return s
}
