package server

import (
	"fmt"
	"strconv"
	"strings"
)

// checkQuery holds a query to the limits of the options. Those that the query
// language has for itself, and what is wrong in another way, are its business.
func (k *call) checkQuery() error {
	if k.Request.URL.RawQuery == "" || k.MaxTerms <= 0 && k.MaxPage <= 0 {
		return nil
	}
	parameters, err := k.parameters()
	if err != nil {
		return err
	}
	names := make(map[string]bool)
	start, end := 0, 0
	for _, p := range parameters {
		if names[p.name] = true; k.MaxTerms > 0 && len(names) > k.MaxTerms {
			return badParameter(p.name, fmt.Sprintf("a query has at most %d different parameters", k.MaxTerms))
		}
		n, err := strconv.Atoi(strings.TrimSpace(p.value))
		if err != nil || k.MaxPage <= 0 {
			continue
		}
		size := 0
		switch p.name {
		case "_limit", "_per_page":
			size = n
		case "_start":
			start = n
		case "_end":
			end = n
		}
		if size > k.MaxPage {
			return badParameter(p.name, fmt.Sprintf("a page has at most %d records", k.MaxPage))
		}
	}
	if k.MaxPage > 0 && end-start > k.MaxPage {
		return badParameter("_end", fmt.Sprintf("a page has at most %d records", k.MaxPage))
	}
	return nil
}
