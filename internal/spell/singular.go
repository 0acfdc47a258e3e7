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

// singulars caches the results of Singular.
var singulars = struct {
	sync.Mutex
	byPlural map[string]string // guarded by Mutex
}{byPlural: make(map[string]string)}

const maxSingulars = 10_000

// Singular returns the singular of an English plural: driver for drivers, category
// for categories, address for addresses. Followed by Id, as in driverId, it is the
// field by which other records refer to one of the collection. Other names are
// returned unchanged.
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
