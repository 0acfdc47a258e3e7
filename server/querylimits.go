package server

import (
	"fmt"

	"pickup/internal/database"
	"pickup/internal/query"
)

// checkQuery holds a query to the number of parameters that the options allow.
// Those limits that the query language has for itself, and what is wrong in
// another way, are its business.
func (k *call) checkQuery() error {
	if k.Request.URL.RawQuery == "" || k.MaxTerms <= 0 {
		return nil
	}
	parameters, err := k.parameters()
	if err != nil {
		return err
	}
	names := make(map[string]bool)
	for _, p := range parameters {
		if names[p.name] = true; len(names) > k.MaxTerms {
			return badParameter(p.name, fmt.Sprintf("a query has at most %d different parameters", k.MaxTerms))
		}
	}
	return nil
}

// checkPage holds what a query asks for to the greatest page of the options:
// the size that it names, and with a result what it comes to.
func (k *call) checkPage(q *query.Query, r *database.Result) error {
	size, parameter := q.PageSize()
	if r != nil {
		size = len(r.Records)
	}
	if k.MaxPage > 0 && parameter != "" && size > k.MaxPage {
		return badParameter(parameter, fmt.Sprintf("a page has at most %d records", k.MaxPage))
	}
	return nil
}
