package server

import (
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

// generate serves POST /_/generate: it adds made-up records.
func (req *request) generate() error {
	body, err := req.readMembers("now", "collections", "seed")
	if err != nil {
		return err
	}
	counts, err := req.counts(body["collections"])
	if err != nil {
		return err
	}
	var answer struct {
		Rev     string                      `json:"rev"`
		Seed    uint64                      `json:"seed"`
		Made    map[string][]string         `json:"made"`
		Records map[string][]jsontext.Value `json:"records,omitempty"` // if they are not stored
	}
	answer.Seed = rand.Uint64N(1_000_000)
	if seed := body["seed"]; seed != nil {
		answer.Seed, err = strconv.ParseUint(string(seed), 10, 53) // exact in JavaScript
		if err != nil {
			return problem.BadRequestAt("/seed", "the seed must be a natural number below 2^53, as in 7")
		}
	}
	now := time.Now()
	if text, ok := rawjson.Text(body["now"]); ok {
		now, err = time.Parse(time.RFC3339, text)
		if err != nil {
			return problem.BadRequestAt("/now", "the time must be one such as 2026-01-31T12:00:00Z")
		}
	}
	after, err := req.updateList("", func(tx *database.Tx) (err error) {
		answer.Made, err = fake.Make(tx, counts, answer.Seed, now)
		return err
	})
	if err != nil {
		return err
	}
	if req.prefer(preferMinimal) {
		return req.sendNothing()
	}
	if hasPreference(req.Context, preferRollback) {
		answer.Records = make(map[string][]jsontext.Value)
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

// counts reads the number of new records for each collection.
func (req *request) counts(v jsontext.Value) (counts []fake.Count, err error) {
	total, most := 0, req.mostOperations()
	for name, v := range rawjson.Fields(v) {
		at := rawjson.Pointer("collections", name)
		n, err := strconv.Atoi(string(v))
		switch {
		case memberOf(req.snap, name) == nothing:
			return nil, req.noCollection(req.snap, name)
		case memberOf(req.snap, name) == object:
			return nil, problem.BadRequestAt(at, strconv.Quote(name)+" is an object, not a collection")
		case err != nil || n < 1:
			return nil, problem.BadRequestAt(at, "the number of records must be 1 or more, as in 50")
		}
		counts = append(counts, fake.Count{Collection: name, N: n})
		total = min(total, most) + n // without overflow
	}
	if counts == nil {
		const detail = "collections must be an object with the number of records of each collection, " +
			`as in {"schedules": 50}`
		return nil, problem.BadRequestAt("/collections", detail)
	}
	if total > most {
		const format = "A request can make at most %d records. Send several, or use pickup generate."
		return nil, problem.Newf(http.StatusRequestEntityTooLarge, format, most)
	}
	return counts, nil
}
