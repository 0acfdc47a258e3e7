// Package query reads the query language of a URL and says which values it
// wants, in which order, and what is shown of them. It knows nothing of where
// the values are kept.
//
// Start at parse.go, which reads a URL; where.go reads a condition in JSON.
// operator.go names the operators, match.go and like.go say what they mean, equal.go
// and order.go compare values. sort.go sorts, page.go cuts pages, project.go selects
// members, and embed.go says what is to be embedded.
package query
