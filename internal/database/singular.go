package database

import "strings"

// irregular plurals and those that the rules of Singular get wrong. A name
// that ends in one, as lineItemStatuses does, follows it.
var irregular = []struct{ plural, singular string }{
	{"people", "person"}, {"children", "child"},
	{"movies", "movie"}, {"cookies", "cookie"}, {"series", "series"}, {"news", "news"},
	{"statuses", "status"}, {"buses", "bus"}, {"viruses", "virus"}, {"campuses", "campus"},
	{"caches", "cache"}, {"headaches", "headache"}, {"quizzes", "quiz"},
	{"leaves", "leaf"}, {"shelves", "shelf"}, {"wolves", "wolf"}, {"halves", "half"},
	{"knives", "knife"}, {"wives", "wife"}, {"women", "woman"},
	{"mice", "mouse"}, {"feet", "foot"}, {"teeth", "tooth"},
	{"indices", "index"}, {"vertices", "vertex"}, {"matrices", "matrix"}, {"shoes", "shoe"},
	{"status", "status"}, {"bus", "bus"}, {"campus", "campus"}, {"virus", "virus"},
	{"bonus", "bonus"}, {"corpus", "corpus"},
}

// Singular returns the name of one record of a collection, by the rules of
// English spelling: driver of drivers, category of categories, address of
// addresses. Its Id is the member by which other records refer to it, driverId
// and so on. A name that is no plural is its own singular.
func Singular(plural string) string {
	for _, i := range irregular {
		if head, ok := strings.CutSuffix(plural, i.plural); ok {
			return head + i.singular
		}
		// statusList and lineStatuses: camel case begins a word with a capital.
		if head, ok := strings.CutSuffix(plural, capital(i.plural)); ok {
			return head + capital(i.singular)
		}
	}
	if head, ok := strings.CutSuffix(plural, "ies"); ok && len(head) > 1 {
		return head + "y"
	}
	for _, es := range []string{"sses", "shes", "ches", "xes", "zzes"} {
		if strings.HasSuffix(plural, es) {
			return strings.TrimSuffix(plural, "es")
		}
	}
	if head, ok := strings.CutSuffix(plural, "oes"); ok && len(head) > 1 {
		return head + "o"
	}
	if head, ok := strings.CutSuffix(plural, "s"); ok && len(head) > 1 && !strings.HasSuffix(head, "s") {
		return head
	}
	return plural
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
