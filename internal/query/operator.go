package query

import (
	"fmt"
	"slices"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// An operator tests the value at the path of a term. An array satisfies it if one
// of its elements does. The cheapest come first.
type operator uint8

const (
	opEq operator = iota // equals one of the values
	opNe                 // is present, not null, and equals none of the values
	opLt                 // is less than all of the values; likewise opLte, opGt, opGte
	opLte
	opGt
	opGte
	opIn         // equals one of the values, which are separated by commas
	opExists     // is present and not null, or is not
	opContains   // is a string that contains one of the values, or an array with an element that equals one
	opStartsWith // is a string that begins with all of the values
	opEndsWith   // is a string that ends with all of the values
	opLike       // is a scalar whose text one of the patterns matches
	opSearch     // has a string, number or boolean at any depth that contains the text, for each text: q
	opRefers     // is exactly this id, as text: the records of a parent
)

// operators are the names of the operators: after a field's name and a colon or
// an underscore, and in a condition of _where.
var operators = []string{
	opEq: "eq", opNe: "ne", opLt: "lt", opLte: "lte", opGt: "gt", opGte: "gte", opIn: "in", opExists: "exists",
	opContains: "contains", opStartsWith: "startsWith", opEndsWith: "endsWith", opLike: "like",
}

// compares reports whether op is one of lt, lte, gt and gte. Without an operand it is no
// condition: an empty field of a form sends it.
func (op operator) compares() bool { return opLt <= op && op <= opGte }

// operatorCalled returns the operator of that name.
func operatorCalled(name string) (operator, bool) {
	i := slices.Index(operators, name)
	return operator(i), i >= 0
}

// othersOperators are operators of other servers that do not resemble one of ours.
var othersOperators = []string{"after", "before", "between", "icontains", "neq", "nin", "not"}

// FieldAndOperator splits the name of a filter at its last underscore. It reports whether the
// second part is probably meant as an operator, although there is no such operator.
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
	return &Error{Parameter: parameter, Detail: fmt.Sprintf("there is no operator %q%s",
		rawjson.Shorten(operator), spell.DidYouMean(operator, "the operators", operators))}
}

// Functions are the parameters of the query language that are not filters.
var Functions = []string{
	"q", "_where", "_sort", "_order", "_page", "_per_page", "_limit", "_start", "_end", "_embed", "_expand", "_fields",
	"_delay", "_code", "_fault", "_hold", // which the server takes out
}

// cacheBusters are the parameters that clients add to bypass caches, besides "_".
var cacheBusters = []string{"_t", "_ts", "_v", "_cb", "_nocache"}

// IsCacheBuster reports whether a read ignores the parameter, unless it is a field.
func IsCacheBuster(name string) bool { return slices.Contains(cacheBusters, name) }

// DidYouMean returns the end of an error about a parameter that is not one of those
// known: the nearest one, or all of them.
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

// WithUnderscore returns the parameter that is called name after an underscore, or "".
func WithUnderscore(name string) string {
	if name = "_" + name; slices.Contains(Functions, name) {
		return name
	}
	return ""
}
