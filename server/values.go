package server

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pickup/internal/query"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

const (
	fewValues  = 20    // that GET /_/values lists without _limit
	manyValues = 1_000 // that it lists at most
)

// listValues serves GET /_/values/COLLECTION/MEMBER: the values of a field, the most
// frequent first.
func (req *request) listValues() error {
	collection, member := req.Param("collection"), req.Param("member")
	switch memberOf(req.snap, collection) {
	case nothing:
		return req.noCollection(req.snap, collection)
	case object:
		return notFound(req.snap, collection+" is not a collection.")
	}
	search, limit := "", fewValues
	for _, p := range req.parameters {
		if p.Name == "q" {
			search = p.Value
			continue
		}
		n, err := strconv.Atoi(p.Value)
		if err != nil || n < 1 || n > manyValues {
			return problem.BadParameter(p.Name, fmt.Sprintf("must be a whole number from 1 to %d", manyValues))
		}
		limit = n
	}
	req.keepBody = true
	tag := req.tagOf(req.snap, collection, strings.Join([]string{openapi.ValuesPath, collection, member, search, strconv.Itoa(limit)}, "\xff"), openapi.JSONType, nil)
	var unknown *query.Error
	err := req.sendTagged(openapi.JSONType, tag, func(b []byte) ([]byte, error) {
		values, err := req.snap.Values(collection, member, search, limit)
		return append(b, bytes.TrimSuffix(httpx.Marshal(values), []byte("\n"))...), err
	})
	if errors.As(err, &unknown) {
		return notFound(req.snap, httpx.Sentence(unknown.Detail))
	}
	return err
}
