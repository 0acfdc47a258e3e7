package server

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// resolveID sets the id from the query if the path has none: from Id, id, or the
// name by which other records refer to this collection. A write has no other
// parameters: a filter that is ignored would change a record that it should have
// excluded.
func (req *request) resolveID() error {
	own := database.Singular(req.name) + "Id"
	parameters, err := req.parameters()
	if err != nil {
		return err
	}
	inPath := req.id != ""
	for _, p := range parameters {
		if p.name == "_dependent" && req.Request.Method == "DELETE" {
			if err := req.readDependents(p.value); err != nil {
				return err
			}
			continue
		}
		if p.name != "Id" && p.name != "id" && p.name != own {
			return badParameter(p.name, req.Request.Method+" changes one record and has no such parameter: the id is Id, id or "+own)
		}
		switch {
		case p.value == "":
			return badParameter(p.name, "the id is empty")
		case req.id == "":
			req.id = p.value
		case req.id != p.value && inPath:
			return badParameter(p.name, "it differs from the id in the path, "+strconv.Quote(clip(req.id)))
		case req.id != p.value:
			return badParameter(p.name, "the request has two different ids")
		}
	}
	if req.id == "" {
		return badParameter("Id", req.Request.Method+" needs the id of a record: "+
			"/"+req.name+"/4 or /"+req.name+"?Id=4; the parameter can also be called id or "+own)
	}
	return nil
}

// readDependents parses the value of _dependent, a list of collections.
func (req *request) readDependents(names string) error {
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
	parameters, err := req.parameters()
	if err != nil || len(parameters) == 0 {
		return err
	}
	detail := req.Request.Method + " has no parameters here"
	if req.Request.Method == "POST" && req.name != "" {
		detail = "POST creates a record and has no parameters; PUT and PATCH change one"
	}
	return badParameter(parameters[0].name, detail)
}

// A parameter is a decoded name=value pair of a query.
type parameter struct{ name, value string }

// parameters returns the parameters of the URL in their order, without "_", which
// clients add to bypass caches.
func (req *request) parameters() ([]parameter, error) {
	var list []parameter
	for part := range strings.SplitSeq(req.Request.URL.RawQuery, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		n, err := url.QueryUnescape(name)
		v, err2 := url.QueryUnescape(value)
		if err != nil || err2 != nil {
			return nil, badParameter(clip(name), "a percent sign in a URL must be followed by two hexadecimal digits")
		}
		if n != "_" {
			list = append(list, parameter{n, v})
		}
	}
	return list, nil
}

// checkQuery limits the number of different parameters to MaxTerms.
func (req *request) checkQuery() error {
	if req.Request.URL.RawQuery == "" || req.MaxTerms <= 0 {
		return nil
	}
	parameters, err := req.parameters()
	if err != nil {
		return err
	}
	names := make(map[string]bool)
	for _, p := range parameters {
		if names[p.name] = true; len(names) > req.MaxTerms {
			return badParameter(p.name, fmt.Sprintf("a query has at most %d different parameters", req.MaxTerms))
		}
	}
	return nil
}
