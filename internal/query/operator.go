package query

import "slices"

// An operator is what a filter asks of the value at its path. A value that is
// an array is asked for its elements, and one that answers is enough.
type operator uint8

const (
	opEq         operator = iota // equal to one of the values
	opNe                         // there, not null, and equal to none of the values
	opLt                         // less than all of the values
	opLte                        // …
	opGt                         //
	opGte                        //
	opIn                         // equal to one of the values, which stand between commas
	opContains                   // a string that contains one of the values, or an array with one that equals it
	opStartsWith                 // a string that begins with all of the values
	opEndsWith                   // a string that ends with all of the values
	opLike                       // a scalar whose text one of the patterns matches
	opExists                     // there and not null, or not so

	opSearch // a string, number or boolean at any depth contains all of the texts: q
	opRefers // an id of exactly this text: the records of a parent
)

// operators are the names of the operators: after a member's name and a colon or
// an underscore, and in a condition of _where.
var operators = []string{
	opEq: "eq", opNe: "ne", opLt: "lt", opLte: "lte", opGt: "gt", opGte: "gte", opIn: "in",
	opContains: "contains", opStartsWith: "startsWith", opEndsWith: "endsWith", opLike: "like", opExists: "exists",
}

// operatorCalled returns the operator of that name.
func operatorCalled(name string) (operator, bool) {
	i := slices.Index(operators, name)
	return operator(i), i >= 0
}

// functions are the parameters that are no filters. A "_" alone is one that
// does nothing: it keeps caches from answering.
var functions = []string{
	"q", "_where", "_sort", "_order", "_page", "_per_page", "_limit", "_start", "_end", "_embed", "_expand", "_fields",
}
