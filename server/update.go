package server

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// update runs fn as one transaction and returns when it is durable.
func (req *request) update(fn func(*database.Tx) error) error {
	before := req.Copies.made()
	_, err := req.db.Update(database.WithRequest(req.Request.Context(), requestIDOf(req.Context)), fn)
	if names := req.Copies.since(before); len(names) > 0 {
		req.Writer.Header()["Pickup-Kept"] = names
	}
	if errors.Is(err, storage.ErrNotFound) {
		return req.missing(req.db.Snapshot())
	}
	return err
}

// gone says which part of the path leads nowhere in snap.
func (req *request) missing(snap *database.Snapshot) error {
	for _, name := range []string{req.name, req.child} {
		if _, ok := snap.Kind(name); !ok && name != "" {
			return noCollection(snap, name)
		}
	}
	if req.id == "" {
		return notFound(snap, req.name+" is no longer what it was.")
	}
	return noRecord(snap, req.name, req.id)
}

// address sets req.id from the query where the path has none: Id, id, or the
// name by which other records refer to one of this collection. Nothing else may
// stand in the query of a write: a filter that is overlooked there would change
// a record that it was meant to spare.
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
			return badParameter(p.name, "a "+req.Request.Method+" is for one record, which is named by Id, id or "+own)
		}
		switch {
		case p.value == "":
			return badParameter(p.name, "the id is empty")
		case req.id == "":
			req.id = p.value
		case req.id != p.value && inPath:
			return badParameter(p.name, "it differs from the id in the path, "+strconv.Quote(clip(req.id)))
		case req.id != p.value:
			return badParameter(p.name, "two different ids are given")
		}
	}
	if req.id == "" {
		return badParameter("Id", "a "+req.Request.Method+" needs the id of the record: "+
			"/"+req.name+"?Id=4 or /"+req.name+"/4; id and "+own+" are names for it too")
	}
	return nil
}

// dependents reads a value of _dependent: the names of collections.
func (req *request) readDependents(names string) error {
	for name := range strings.SplitSeq(names, ",") {
		if kind, ok := req.snap.Kind(name); !ok || kind != storage.Array {
			return badParameter("_dependent", strconv.Quote(clip(name))+" is no collection")
		}
		req.dependent = append(req.dependent, name)
	}
	return nil
}

// rejectParameters returns an error if the query of a write is not empty.
func (req *request) rejectParameters() error {
	parameters, err := req.parameters()
	if err != nil || len(parameters) == 0 {
		return err
	}
	detail := "a " + req.Request.Method + " takes no parameter here"
	if req.Request.Method == "POST" {
		detail = "a POST creates a record and takes no parameter; PUT and PATCH change one"
	}
	return badParameter(parameters[0].name, detail)
}

// A parameter is one name=value of a query, decoded.
type parameter struct{ name, value string }

// parameters returns those of the URL in their order, without the "_" that
// keeps caches from answering.
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
			return nil, badParameter(clip(name), "a percent sign in a URL is followed by two hexadecimal digits")
		}
		if n != "_" {
			list = append(list, parameter{n, v})
		}
	}
	return list, nil
}
