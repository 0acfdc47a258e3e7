package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// checkParameters returns an error for the first parameter that the route does not
// take.
func (req *request) checkParameters(r *route) error {
	if len(req.parameters) == 0 {
		return nil
	}
	method := req.Request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	known := strings.Fields(r.takes[method])
	if slices.Equal(known, []string{anyParameter}) {
		return nil
	}
	if i := slices.Index(known, ownID); i >= 0 {
		known[i] = req.snap.KeyOf(database.Singular(req.name))
	}
	return req.takeOnly(known...)
}

// takeOnly returns an error for the first parameter that is not one of those known.
func (req *request) takeOnly(known ...string) error {
	for _, p := range req.parameters {
		name := p.Name
		if name == "_embed[]" || name == "_expand[]" {
			name = strings.TrimSuffix(name, "[]")
		}
		if !slices.Contains(known, name) {
			return problem.BadParameter(p.Name, "there is no such parameter here"+query.DidYouMean(name, known))
		}
	}
	return nil
}

// resolveID sets the id of a record from the query if the path has none: from Id, id, or the
// name by which other records refer to this collection.
func (req *request) resolveID() error {
	if memberOf(req.snap, req.name) == object {
		return nil
	}
	inPath := req.id != ""
	for _, p := range req.parameters {
		switch {
		case p.Name == "_dependent":
			if err := req.settle(func() error { return req.readDependents(p.Value) }); err != nil {
				return err
			}
		case p.Value == "":
			return problem.BadParameter(p.Name, "the id is empty")
		case req.id == "":
			req.id = p.Value
		case req.id != p.Value && inPath:
			return problem.BadParameter(p.Name, "it differs from the id in the path, "+strconv.Quote(httpx.Clip(req.id)))
		case req.id != p.Value:
			return problem.BadParameter(p.Name, "the request has two different ids")
		}
	}
	if req.id == "" {
		return problem.BadParameter("Id", req.Request.Method+" needs the id of a record, as in /"+req.name+"/4 or /"+req.name+"?Id=4")
	}
	return nil
}

// readDependents parses the value of _dependent, a list of collections.
func (req *request) readDependents(names string) error {
	req.dependent = nil
	for name := range strings.SplitSeq(names, ",") {
		if kind, ok := req.snap.Kind(name); !ok || kind != storage.Array {
			return problem.BadParameter("_dependent", strconv.Quote(httpx.Clip(name))+" is not a collection")
		}
		req.dependent = append(req.dependent, name)
	}
	return nil
}

// readParameters decodes the parameters of the URL. It limits the number of
// different ones to MaxTerms.
func (req *request) readParameters() (err error) {
	req.parameters, err = query.Parameters(req.Request.URL.RawQuery)
	if err != nil || req.MaxTerms <= 0 || len(req.parameters) <= req.MaxTerms {
		return err
	}
	names := make(map[string]bool)
	for _, p := range req.parameters {
		if names[p.Name] = true; len(names) > req.MaxTerms {
			return problem.BadParameter(p.Name, fmt.Sprintf("a query has at most %d different parameters", req.MaxTerms))
		}
	}
	return nil
}
