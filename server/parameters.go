package server

import (
	"fmt"
	"strconv"
	"strings"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/storage"
)

// resolveID sets the id of a record from the query if the path has none: from Id, id, or the
// name by which other records refer to this collection. A write has no other
// parameters: a filter that is ignored would change a record that it should have
// excluded.
func (req *request) resolveID() error {
	if memberOf(req.snap, req.name) == object {
		return req.rejectParameters()
	}
	own := req.snap.KeyOf(database.Singular(req.name))
	inPath := req.id != ""
	for _, p := range req.parameters {
		if p.Name == "_dependent" && req.Request.Method == "DELETE" {
			if err := req.settle(func() error { return req.readDependents(p.Value) }); err != nil {
				return err
			}
			continue
		}
		if p.Name != "Id" && p.Name != "id" && p.Name != own {
			return badParameter(p.Name, req.Request.Method+" changes one record and has no such parameter: the id is Id, id or "+own)
		}
		switch {
		case p.Value == "":
			return badParameter(p.Name, "the id is empty")
		case req.id == "":
			req.id = p.Value
		case req.id != p.Value && inPath:
			return badParameter(p.Name, "it differs from the id in the path, "+strconv.Quote(clip(req.id)))
		case req.id != p.Value:
			return badParameter(p.Name, "the request has two different ids")
		}
	}
	if req.id == "" {
		return badParameter("Id", req.Request.Method+" needs the id of a record, as in /"+req.name+"/4 or /"+req.name+"?Id=4")
	}
	return nil
}

// readDependents parses the value of _dependent, a list of collections.
func (req *request) readDependents(names string) error {
	req.dependent = nil
	for name := range strings.SplitSeq(names, ",") {
		if kind, ok := req.snap.Kind(name); !ok || kind != storage.Array {
			return badParameter("_dependent", strconv.Quote(clip(name))+" is not a collection")
		}
		req.dependent = append(req.dependent, name)
	}
	return nil
}

// rejectParameters returns an error if a write has parameters.
func (req *request) rejectParameters() error {
	if len(req.parameters) == 0 {
		return nil
	}
	detail := req.Request.Method + " has no parameters here"
	if req.Request.Method == "POST" && req.name != "" {
		detail = "POST creates a record and has no parameters; PUT and PATCH change one"
	}
	return badParameter(req.parameters[0].Name, detail)
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
			return badParameter(p.Name, fmt.Sprintf("a query has at most %d different parameters", req.MaxTerms))
		}
	}
	return nil
}
