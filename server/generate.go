package server

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/fake"
	"pickup/internal/rawjson"
	"pickup/server/internal/problem"
)

// How many records a request may make. Above maxDirect they are made in a fork, so that other
// writers wait for their adoption only.
const (
	maxMade       = 10_000
	maxMadeShared = 4_000 // as many keys as a transaction of etcd has
	maxDirect     = 1_000
)

// generate serves POST /_/generate: it adds made-up records.
func (req *request) generate() error {
	body, err := req.readMembers("now", "collections", "seed")
	if err != nil {
		return err
	}
	answer := struct {
		Rev     string                      `json:"rev"`
		Seed    uint64                      `json:"seed"`
		Made    map[string][]string         `json:"made"`
		Records map[string][]jsontext.Value `json:"records,omitempty"` // if they are not stored
	}{Seed: rand.Uint64N(1_000_000), Records: make(map[string][]jsontext.Value)}
	if v := body["seed"]; v != nil {
		if answer.Seed, err = strconv.ParseUint(string(v), 10, 53); err != nil { // as JavaScript has them
			return problem.WrongShapeAt("/seed", "the seed must be a natural number below 2^53, as in 7")
		}
	}
	now := time.Now()
	if text, ok := rawjson.Text(body["now"]); ok {
		if now, err = time.Parse(time.RFC3339, text); err != nil {
			return problem.WrongShapeAt("/now", "the time must be one such as 2026-01-31T12:00:00Z")
		}
	}
	counts, err := req.counts(body["collections"])
	if err != nil {
		return err
	}
	total := 0
	for _, c := range counts {
		total += c.N
	}
	generate := func(tx *database.Tx) (err error) {
		answer.Made, err = fake.Make(tx, counts, answer.Seed, now)
		return err
	}
	var after *database.Snapshot
	for try := 0; ; try++ {
		change := generate
		aside := total > maxDirect && try < 3 && !hasPreference(req.Context, preferRollback) // else others keep writing
		if base := req.db.Snapshot(); aside {
			fork, err := req.db.Fork(base, func(int) error { return nil }).Update(req.Request.Context(), generate)
			if err != nil {
				return err
			}
			change = func(tx *database.Tx) error { _, err := tx.Adopt(base, fork); return err }
		}
		after, err = req.update(func(tx *database.Tx) error {
			if err := req.checkListPrecondition(tx, ""); err != nil {
				return err
			}
			return change(tx)
		})
		if _, conflict := errors.AsType[*database.ConflictError](err); !conflict || !aside {
			break
		}
	}
	switch {
	case err != nil:
		return err
	case prefer(req.Context, preferMinimal):
		return req.sendNothing()
	case hasPreference(req.Context, preferRollback):
		for name, ids := range answer.Made {
			for _, id := range ids {
				if r, err := after.Get(name, id); err == nil {
					answer.Records[name] = append(answer.Records[name], r.Value)
				}
			}
		}
	}
	answer.Rev = req.Writer.Header().Get(revisionHeader)
	return req.sendNow(http.StatusOK, answer)
}

// counts reads how many records each collection gets.
func (req *request) counts(v jsontext.Value) (counts []fake.Count, err error) {
	total, most := 0, maxMade
	if req.db.Shared() {
		most = maxMadeShared
	}
	for quoted, v := range rawjson.Members(v) {
		name := rawjson.Unquote(quoted)
		n, err := strconv.Atoi(string(v))
		if err != nil || n < 1 {
			return nil, problem.WrongShapeAt(rawjson.Pointer("collections", name), "the number of records must be 1 or more, as in 50")
		}
		switch total = min(total, most) + n; memberOf(req.snap, name) {
		case object:
			return nil, problem.WrongShapeAt(rawjson.Pointer("collections", name), strconv.Quote(name)+" is an object, not a collection")
		case nothing:
			return nil, req.noCollection(req.snap, name)
		}
		counts = append(counts, fake.Count{Collection: name, N: n})
	}
	switch {
	case counts == nil:
		return nil, problem.WrongShapeAt("/collections", `collections must be an object with the number of records of each collection, as in {"schedules": 50}`)
	case total > most:
		return nil, problem.New(http.StatusRequestEntityTooLarge, fmt.Sprintf("A request can make at most %d records. Send several, or use pickup generate.", most))
	}
	return counts, nil
}
