package query

import (
	"slices"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// An operator tests the value at the path of a term. An array satisfies an operator if an
// element does. Cheap operators come first.
type operator uint8

const (
	opEq operator = iota // equals a value
	opNe                 // is present, not null, and equals no value
	opLt                 // is less than all values; likewise opLte, opGt, opGte
	opLte
	opGt
	opGte
	opIn         // equals a value of a list, separated by commas
	opExists     // is present and not null, or the opposite
	opContains   // is a string that contains a value, or an array with an element that equals a value
	opStartsWith // is a string that starts with all values
	opEndsWith   // is a string that ends with all values
	opLike       // is a scalar whose text matches a pattern
	opSearch     // has, for each text of q, a string, number or boolean with that text, at any depth
	opRefers     // is this id as text: selects the records of a parent
)

// operators lists the names of operators. A name follows the name of a field and a colon or an
// underscore, and is a field in a condition of _where.
var operators = []string{
	opEq: "eq", opNe: "ne", opLt: "lt", opLte: "lte", opGt: "gt", opGte: "gte", opIn: "in", opExists: "exists",
	opContains: "contains", opStartsWith: "startsWith", opEndsWith: "endsWith", opLike: "like",
}

// compares reports whether op is lt, lte, gt or gte. Such an operator without an operand, as an
// empty field of a form sends, is not a condition.
func (op operator) compares() bool { return opLt <= op && op <= opGte }

// operatorCalled returns the operator of that name.
func operatorCalled(name string) (operator, bool) {
	i := slices.Index(operators, name)
	return operator(i), i >= 0
}

// othersOperators lists operators of other servers that do not resemble an operator here.
var othersOperators = []string{"after", "before", "between", "icontains", "neq", "nin", "not"}

// FieldAndOperator splits the name of a filter at the last underscore. It reports whether the
// second part was probably meant as an operator, although there is no such operator.
func FieldAndOperator(name string) (field, operator string, ok bool) {
	i := strings.LastIndexByte(name, '_')
	if i <= 0 {
		return "", "", false
	}
	operator = name[i+1:]
	ok = slices.Contains(othersOperators, strings.ToLower(operator)) || spell.Nearest(operator, operators) != ""
	return name[:i], operator, ok
}

// UnknownOperator returns the error for a filter with an operator that does not exist.
func UnknownOperator(parameter, operator string) *Error {
	return Errorf(parameter, "there is no operator %q%s",
		rawjson.Shorten(operator), spell.DidYouMean(operator, "the operators", operators))
}

// Functions lists the parameters of the query language that are not filters.
var Functions = []string{
	"q", "_where", "_sort", "_order", "_page", "_per_page", "_limit", "_start", "_end", "_embed", "_expand", "_fields",
	"_delay", "_code", "_fault", "_hold", // which the server takes out
}

// cacheBusters lists parameters that clients add to bypass caches, in addition to "_".
var cacheBusters = []string{"_t", "_ts", "_v", "_cb", "_nocache"}

// IsCacheBuster reports whether reads ignore a parameter, unless a field has the name.
func IsCacheBuster(name string) bool {
	return slices.Contains(cacheBusters, name)
}

// DidYouMean returns the end of an error about an unknown parameter: the nearest known
// parameter, or all of them.
func DidYouMean(name string, known []string) string {
	switch {
	case IsCacheBuster(name):
		return "; did you mean _=, which is ignored?"
	case len(known) == 0:
		return ""
	case len(known) == 1 && spell.Nearest(name, known) == "":
		return "; the only one is " + known[0]
	}
	return spell.DidYouMean(name, "the parameters", known)
}

// WithUnderscore returns the function whose name is an underscore followed by name, or "".
func WithUnderscore(name string) string {
	name = "_" + name
	if slices.Contains(Functions, name) {
		return name
	}
	return ""
}
