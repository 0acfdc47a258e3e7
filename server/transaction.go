package server

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/server/internal/problem"
)

// How many operations a transaction may have, and how many records a request may make up.
const (
	maxOperations       = 10_000
	maxOperationsShared = 4_000 // as many keys as a transaction of etcd has
)

// mostOperations returns how many operations a transaction of the database may have.
func (req *request) mostOperations() int {
	if req.db.Shared() {
		return maxOperationsShared
	}
	return maxOperations
}

// transact serves POST /_/transaction: operations on any number of records, which are made all
// or none. The answer has what each has stored.
func (req *request) transact() error {
	operations, err := req.readOperations()
	if err != nil {
		return err
	}
	mode := database.Create
	if hasPreference(req.Context, preferDefaults) {
		mode = database.CreateWithDefaults
	}
	var answer struct {
		Rev     string           `json:"rev"`
		Records []jsontext.Value `json:"records"`
	}
	_, err = req.updateList("", func(tx *database.Tx) (err error) {
		answer.Records, err = tx.Do(operations, mode)
		size := 0
		for _, v := range answer.Records {
			size += len(v)
		}
		if err == nil {
			err = req.reserveAnswer(size)
		}
		return err
	})
	if err != nil {
		return err
	}
	req.prefer(preferDefaults)
	if req.prefer(preferMinimal) {
		return req.sendNothing()
	}
	for i, v := range answer.Records {
		if v == nil {
			answer.Records[i] = jsontext.Value("null")
		}
	}
	answer.Rev = req.Writer.Header().Get(revisionHeader)
	return req.sendNow(http.StatusOK, answer)
}

// readOperations reads a body that is an array of operations, whose form the database checks.
func (req *request) readOperations() (jsontext.Value, error) {
	operations, err := req.readJSON()
	if err != nil {
		return nil, err
	}
	if operations.Kind() != '[' {
		return nil, problem.BadRequest(`a transaction is an array of operations, as in [{"op": "create", "collection": "schedules", "record": {}}]`)
	}
	count, records := 0, 0
	for v := range rawjson.Elements(operations) {
		count++
		path := rawjson.Get(v, "path")
		value := rawjson.Get(v, "value")
		if value != nil && path == nil {
			path = rawjson.Get(v, "collection")
		}
		req.hideSecrets(string(path))
		for range rawjson.Elements(value) {
			records++
		}
	}
	if most := req.mostOperations(); count > most {
		return nil, problem.Newf(http.StatusRequestEntityTooLarge,
			"A transaction has at most %d operations, and this one has %d. Nothing was stored.", most, count)
	}
	if !req.reserve(int64(records) * recordCost) {
		return nil, problem.NoMemory()
	}
	return operations, nil
}
