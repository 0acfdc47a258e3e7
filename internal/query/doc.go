// Package query parses the query language of a URL, filters, sorts and pages
// values, and selects fields. The package does not know where the values are stored.
//
// Start at parse.go, which parses a URL; where.go parses a condition in JSON. operator.go lists
// the operators, and match.go applies them: filter.go and equal.go have the comparisons,
// like.go the patterns. The indexes of package database must agree with eq (EqualityKeys, in
// equal.go) and with lt, lte, gt and gte (Span, in order.go).
package query
