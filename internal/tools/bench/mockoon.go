//go:build linux

package main

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
)

// mockoon is Mockoon's CLI. It serves records of a data bucket, as its CRUD routes do.
const mockoon = "Mockoon"

// environmentOf returns the path of Mockoon's data file for a db.json.
func environmentOf(file string) string { return file + ".mockoon.json" }

// writeEnvironment writes Mockoon's data file, with a CRUD route for the schedules of
// file.
func writeEnvironment(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var db struct{ Schedules json.RawMessage }
	if err := json.Unmarshal(text, &db); err != nil {
		return err
	}

	const route = "5d1c3c9e-0000-4000-8000-000000000001"
	environment := object{
		"uuid": "5d1c3c9e-0000-4000-8000-000000000000", "lastMigration": 33, "name": "bench", "port": 3000,
		"hostname": "", "endpointPrefix": "", "latency": 0, "folders": []any{}, "headers": []any{}, "proxyMode": false,
		"rootChildren": []any{object{"type": "route", "uuid": route}},
		"routes": []any{object{
			"uuid": route, "type": "crud", "endpoint": "schedules", "method": "", "documentation": "",
			"responses": []any{object{
				"uuid": "5d1c3c9e-0000-4000-8000-000000000002", "default": true, "statusCode": 200, "label": "", "latency": 0,
				"headers": []any{}, "bodyType": "DATABUCKET", "databucketID": "recs", "crudKey": "id", "body": "",
				"filePath": "", "sendFileAsBody": false, "rules": []any{}, "rulesOperator": "OR", "disableTemplating": false,
				"fallbackTo404": false, "callbacks": []any{},
			}},
		}},
		"data": []any{object{"uuid": "5d1c3c9e-0000-4000-8000-000000000003", "id": "recs", "name": "schedules", "value": string(db.Schedules)}},
	}
	text, err = json.Marshal(environment)
	if err != nil {
		return err
	}
	return os.WriteFile(environmentOf(file), text, 0o644)
}

// forMockoon returns a query as Mockoon spells it.
func forMockoon(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		panic(err) // a mistake in lists.go
	}
	spelled := url.Values{}
	for name, value := range values {
		switch {
		case name[0] == '_':
			name = name[1:]
		case !strings.HasSuffix(name, "_gte"):
			name += "_eq"
		}
		spelled[name] = value
	}
	return spelled.Encode()
}
