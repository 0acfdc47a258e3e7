// Package schema judges records by a JSON Schema and says in sentences what is
// wrong. It knows one record at a time.
package schema
