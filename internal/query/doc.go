// Package query parses the query language of a URL, filters, sorts and pages
// values, and selects their members. It does not know where the values are kept.
//
// Start at parse.go, which parses a URL; where.go parses a condition in JSON.
// operator.go lists the operators, match.go and like.go implement them.
package query
