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
func (k *call) update(fn func(*database.Tx) error) error {
	before := k.Copies.made()
	_, err := k.db.Update(database.WithRequest(k.Request.Context(), requestIDOf(k.Context)), fn)
	if names := k.Copies.since(before); len(names) > 0 {
		k.Writer.Header()["Pickup-Kept"] = names
	}
	if errors.Is(err, storage.ErrNotFound) {
		return k.gone(k.db.Snapshot())
	}
	return err
}

// gone says which part of the path leads nowhere in snap.
func (k *call) gone(snap *database.Snapshot) error {
	for _, name := range []string{k.name, k.child} {
		if _, ok := snap.Kind(name); !ok && name != "" {
			return noCollection(snap, name)
		}
	}
	if k.id == "" {
		return notFound(snap, k.name+" is no longer what it was.")
	}
	return noRecord(snap, k.name, k.id)
}

// address sets k.id from the query where the path has none: Id, id, or the
// name by which other records refer to one of this collection. Nothing else may
// stand in the query of a write: a filter that is overlooked there would change
// a record that it was meant to spare.
func (k *call) address() error {
	own := database.Singular(k.name) + "Id"
	parameters, err := k.parameters()
	if err != nil {
		return err
	}
	inPath := k.id != ""
	for _, p := range parameters {
		if p.name == "_dependent" && k.Request.Method == "DELETE" {
			if err := k.dependents(p.value); err != nil {
				return err
			}
			continue
		}
		if p.name != "Id" && p.name != "id" && p.name != own {
			return badParameter(p.name, "a "+k.Request.Method+" is for one record, which is named by Id, id or "+own)
		}
		switch {
		case p.value == "":
			return badParameter(p.name, "the id is empty")
		case k.id == "":
			k.id = p.value
		case k.id != p.value && inPath:
			return badParameter(p.name, "it differs from the id in the path, "+strconv.Quote(clip(k.id)))
		case k.id != p.value:
			return badParameter(p.name, "two different ids are given")
		}
	}
	if k.id == "" {
		return badParameter("Id", "a "+k.Request.Method+" needs the id of the record: "+
			"/"+k.name+"?Id=4 or /"+k.name+"/4; id and "+own+" are names for it too")
	}
	return nil
}

// dependents reads a value of _dependent: the names of collections.
func (k *call) dependents(names string) error {
	for name := range strings.SplitSeq(names, ",") {
		if kind, ok := k.snap.Kind(name); !ok || kind != storage.Array {
			return badParameter("_dependent", strconv.Quote(clip(name))+" is no collection")
		}
		k.dependent = append(k.dependent, name)
	}
	return nil
}

// noParameters returns an error if the query of a write is not empty.
func (k *call) noParameters() error {
	parameters, err := k.parameters()
	if err != nil || len(parameters) == 0 {
		return err
	}
	detail := "a " + k.Request.Method + " takes no parameter here"
	if k.Request.Method == "POST" {
		detail = "a POST creates a record and takes no parameter; PUT and PATCH change one"
	}
	return badParameter(parameters[0].name, detail)
}

// A parameter is one name=value of a query, decoded.
type parameter struct{ name, value string }

// parameters returns those of the URL in their order, without the "_" that
// keeps caches from answering.
func (k *call) parameters() ([]parameter, error) {
	var list []parameter
	for part := range strings.SplitSeq(k.Request.URL.RawQuery, "&") {
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
