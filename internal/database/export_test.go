package database

import "pickup/internal/query"

// ParseQuery parses the query part of a URL.
func (s *Snapshot) ParseQuery(collection, rawQuery string) (*query.Query, error) {
	parameters, err := query.Parameters(rawQuery)
	if err != nil {
		return nil, err
	}
	return s.NewQuery(collection, parameters)
}
