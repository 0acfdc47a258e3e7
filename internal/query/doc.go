// Package query reads the query language of a URL and says which values it
// wants, in which order, and what is shown of them. It knows nothing of where
// the values are kept.
package query
