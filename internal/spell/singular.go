package spell

import (
	"strings"
	"sync"

	pluralize "github.com/gertd/go-pluralize"
)

// plurals returns the rules of English plurals. Compiling them takes a millisecond.
var plurals = sync.OnceValue(func() *pluralize.Client {
	c := pluralize.NewClient()
	for _, singular := range []string{"cache", "headache", "cookie", "guru", "saga"} { // wrong in go-pluralize
		c.AddIrregularRule(singular, singular+"s")
	}
	return c
})

var singulars sync.Map // results of Singular, by its argument

// Singular returns the singular of an English plural: driver for drivers, category
// for categories, address for addresses. The singular of a collection, followed by Id,
// as in driverId, is the field for references to the collection. Singular returns other
// names unchanged.
func Singular(plural string) string {
	if s, ok := singulars.Load(plural); ok {
		return s.(string)
	}
	// The last word of lineItems, line_items and line-items.
	starts := func(r rune) bool { return 'A' <= r && r <= 'Z' || r == '_' || r == '-' }
	i := max(0, strings.LastIndexFunc(plural, starts))
	s := plural[:i] + plurals().Singular(plural[i:])
	if s == "" {
		s = plural // "s"
	}
	singulars.Store(plural, s)
	return s
}
