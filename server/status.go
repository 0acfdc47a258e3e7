package server

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/query"
	"pickup/internal/spell"
	"pickup/internal/storage"
	"pickup/server/envelope"
	"pickup/server/internal/httpx"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// status is the body of GET /_/status.
type status struct {
	Version     string              `json:"version"`
	User        string              `json:"user,omitempty"`
	Rev         string              `json:"rev"`
	Session     string              `json:"session,omitempty"`
	Prefix      string              `json:"prefix,omitempty"`
	Answers     *envelope.Form      `json:"answers,omitempty"`
	File        *SourceFile         `json:"file,omitempty"`
	Rules       *SourceFile         `json:"rules,omitempty"`
	Mode        mode                `json:"mode"`
	Collections []collectionState   `json:"collections"`
	Objects     []link              `json:"objects"`
	Values      []string            `json:"values,omitempty"` // the names of the fields without a URL
	Relations   []database.Relation `json:"relations"`
	Findings    *findingsState      `json:"findings,omitempty"`
	Streams     []live.PathCount    `json:"streams,omitempty"`
	Addresses   []string            `json:"addresses,omitempty"` // for other machines
	Review      []review            `json:"review,omitempty"`    // the sessions that wait for a person
	Limits      limits              `json:"limits"`
}

// mode has settings of the service.
type mode struct {
	ReadOnly  bool `json:"readOnly"`
	Ephemeral bool `json:"ephemeral"`
	Simulate  bool `json:"simulate"`
	Requests  bool `json:"requests"`
	Sessions  bool `json:"sessions"`
}

type collectionState struct {
	Name   string `json:"name"`
	Href   string `json:"href"`
	Count  int    `json:"count"`
	Key    string `json:"key"`    // the field with the id
	Record string `json:"record"` // what a record of the collection is called
	Tag    string `json:"tag"`    // of the list
}

type findingsState struct {
	Count   int  `json:"count"`
	Pending bool `json:"pending"` // the count is from an earlier state
}

type limits struct {
	Body  int64 `json:"body"`  // bytes
	Terms int   `json:"terms"` // of a query
	Page  int   `json:"page"`  // records; 0: no limit
}

const maxTerms = 32 // of a query, unless Options.MaxTerms is less

// readStatus serves GET /_/status: what a user interface needs when it starts. It reads only the
// first records of each collection.
func (req *request) readStatus() error {
	index, snap := req.index(), req.snap
	x := status{
		Version: req.Version,
		Rev:     live.EventID(req.db.Run(), snap.Rev()),
		Prefix:  req.base(),
		Answers: req.Answers,
		Mode: mode{
			ReadOnly:  req.refuseWrites() != nil,
			Ephemeral: req.Ephemeral,
			Simulate:  req.Simulate != nil,
			Requests:  req.Requests,
			Sessions:  req.MaxSessions >= 0,
		},
		Collections: []collectionState{},
		Objects:     index.Objects,
		// 100 records are enough to know the names of the fields.
		Relations: append([]database.Relation{}, snap.Relations(100)...),
		Limits:    limits{req.MaxBody, cmp.Or(req.MaxTerms, maxTerms), req.MaxPage},
		Streams:   req.streams.Paths(req.db),
		Review:    req.sessions.reviews(),
	}
	if req.Auth != nil {
		x.User, _, _ = req.Request.BasicAuth()
	}
	for _, c := range index.Collections {
		x.Collections = append(x.Collections, collectionState{
			Name:   c.Name,
			Href:   c.Href,
			Count:  c.Count,
			Key:    snap.IDMember(c.Name),
			Record: spell.Singular(c.Name),
			Tag:    req.listTag(snap, c.Name),
		})
	}
	for _, name := range snap.Names() {
		if memberOf(snap, name) == nothing && !strings.HasPrefix(name, "$") { // not $schema
			x.Values = append(x.Values, name)
		}
	}
	if req.session != nil { // the rest is not about a fork
		x.Session = req.session.name
		return req.sendValue(x)
	}
	if req.Source != nil {
		x.File = req.fileState()
	}
	if req.Rules != nil {
		x.Rules = req.Rules()
	}
	if req.Addresses != nil && !isElsewhere(req.Request) {
		x.Addresses = req.Addresses()
	}
	if req.Findings != nil {
		n, pending := req.Findings.Count()
		x.Findings = &findingsState{n, pending}
	}
	return req.sendValue(x)
}

// fileState returns the file of the database, and how the file is broken.
func (req *request) fileState() *SourceFile {
	file := req.Source()
	file.State = "ok"
	broken := req.db.Err()
	if broken == nil {
		return &file
	}
	p, _ := problem.Of(broken, req.keeper())
	file.State = "broken"
	file.Detail = p.Detail
	if errors.Is(broken, fs.ErrNotExist) && !file.Folder {
		file.State = "missing" // the next write creates it again
	}
	if e, ok := errors.AsType[*storage.BrokenError](broken); ok {
		file.Line = e.Line
		file.Column = e.Column
		file.Excerpt = e.Excerpt
		if file.Folder {
			file.Collection = strings.TrimSuffix(filepath.Base(e.File), filepath.Ext(e.File))
		}
	}
	return &file
}

// changingStatus returns a digest of the parts of the status that change without a revision:
// whether the schema is usable, and how often stubs, held requests or reviews have changed.
func (s *server) changingStatus() string {
	status := strconv.FormatUint(s.simulation.changes.Load(), 10)
	if s.Rules != nil {
		if file := s.Rules(); file != nil {
			status += file.State + file.Detail
		}
	}
	return status
}

// listFindings serves GET /_/findings: the faults of the database or, in a session, of the fork.
func (req *request) listFindings() error {
	start, err := req.number("_start", 0, 0, math.MaxInt)
	if err != nil {
		return err
	}
	end, err := req.number("_end", math.MaxInt, 0, math.MaxInt)
	if err != nil {
		return err
	}
	findings := req.Findings
	if req.session != nil {
		findings = lint.New("", nil, req.db)
	}
	found, count := findings.List(start, end)
	req.Header("X-Total-Count", strconv.Itoa(count))
	return req.sendValue(found)
}

// dismissFinding serves DELETE /_/findings/REV: that revision's edit is no longer a finding.
func (req *request) dismissFinding() error {
	id := req.Param("name")
	if at, ok := parseEventID(id); !ok || at.run != req.db.Run() || !req.db.DismissEdit(at.rev) {
		return problem.New(http.StatusNotFound,
			"There is no finding about an edit with the revision "+httpx.Clip(id)+".")
	}
	return req.sendNothing()
}

const (
	fewValues  = 20    // default of _limit
	manyValues = 1_000 // maximum of _limit
)

// listValues serves GET /_/values/COLLECTION/MEMBER: the values of a field, the most
// frequent first.
func (req *request) listValues() error {
	collection, member := req.Param("collection"), req.Param("member")
	switch memberOf(req.snap, collection) {
	case nothing:
		return req.noCollection(req.snap, collection)
	case object:
		return notFound(req.snap, "%s is not a collection.", collection)
	}
	search, _ := req.parameter("q")
	limit, err := req.number("_limit", fewValues, 1, manyValues)
	if err != nil {
		return err
	}
	key := strings.Join([]string{"/_/values", collection, member, search, strconv.Itoa(limit)}, "\xff")
	tag := req.tagOf(req.snap, collection, key, openapi.JSONType, nil)
	err = req.respond(response{tag: tag, cache: true}, func(b []byte) ([]byte, error) {
		values, err := req.snap.Values(collection, member, search, limit)
		return append(b, httpx.Marshal(values)...), err
	})
	if unknown, ok := errors.AsType[*query.Error](err); ok {
		return notFound(req.snap, "%s", httpx.Sentence(unknown.Detail))
	}
	return err
}
