package database

import (
	"testing"

	"pickup/internal/query"
)

// ParseQuery parses the query part of a URL.
func (s *Snapshot) ParseQuery(collection, rawQuery string) (*query.Query, error) {
	parameters, err := query.Parameters(rawQuery)
	if err != nil {
		return nil, err
	}
	return s.NewQuery(collection, parameters)
}

// LimitEdits lowers the limit of the edits that are kept.
func LimitEdits(t *testing.T, size int) {
	was := maxEditsSize
	t.Cleanup(func() { maxEditsSize = was })
	maxEditsSize = size
}

// LimitWritten lowers the number of bytes that a transaction may write, besides 16 times the size of
// the database.
func LimitWritten(t *testing.T, size int) {
	was := maxWrittenBytes
	t.Cleanup(func() { maxWrittenBytes = was })
	maxWrittenBytes = size
}
