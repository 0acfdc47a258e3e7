package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// TestMigrationPage checks docs/json-server.md and the README of the recorded responses: the
// table of differences has the differences that TestCompat allows and no others, and both
// spellings of an example have the same response.
func TestMigrationPage(t *testing.T) {
	_, examples, ok := strings.Cut(string(readFile(t, "../docs/json-server.md")), "\n| | 0.17 | version 1 |\n")
	if !ok {
		t.Fatal("docs/json-server.md has no table of examples")
	}
	_, differences, ok := strings.Cut(string(readFile(t, compatReadme)), "\n| here | there |\n")
	if !ok {
		t.Fatalf("%s has no table of differences", compatReadme)
	}
	listed := make(map[string]bool)
	for line := range strings.Lines(differences) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") {
			listed[line] = true
		}
	}
	for _, d := range compatDifferences(t) {
		row := "| " + d.here + " | " + d.there + " |"
		if !listed[row] {
			t.Errorf("%s lacks\n%s", compatReadme, row)
		}
		delete(listed, row)
	}
	for row := range listed {
		t.Errorf("%s lists what is no difference:\n%s", compatReadme, row)
	}
	example := regexp.MustCompile("(?m)^\\| ([^|]+) \\| (`[^`]+`|–) \\| (`[^`]+`|–) \\|$")
	found := example.FindAllStringSubmatch(examples, -1)
	if len(found) != strings.Count(examples, "\n| ") || len(found) < 10 {
		t.Errorf("found %d examples", len(found))
	}
	for _, e := range found {
		var answers []string
		for _, request := range e[2:] {
			if request != "–" {
				answers = append(answers, ofSample(t, strings.Trim(request, "`")))
			}
		}
		if answers[0] != answers[len(answers)-1] {
			t.Errorf("%s: %s\n%s\n%s", e[1], e[0], answers[0], answers[1])
		}
		if strings.HasPrefix(answers[0], "[]") {
			t.Errorf("%s: the answer is %s", e[1], answers[0])
		}
	}
}

// ofSample returns the answer of a server with the sample data, without the
// envelope of a page, and the database after the request.
func ofSample(t *testing.T, request string) string {
	schema, err := schema.Compile("db.schema.json", readFile(t, "../db.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), storetest.NewMemStore(readFile(t, "../db.json")), database.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler(db, server.Options{}))
	defer web.Close()
	method, target, ok := strings.Cut(request, " ")
	if !ok {
		method, target = http.MethodGet, request
	}
	path, query, _ := strings.Cut(target, "?")
	response, body := ask(t, method, web.URL+path+"?"+strings.ReplaceAll(url.PathEscape(query), "+", "%2B"), "")
	if response.StatusCode != http.StatusOK {
		t.Errorf("%s: %d %s", request, response.StatusCode, body)
	}
	var envelope struct{ Data []json.RawMessage }
	if json.Unmarshal([]byte(body), &envelope) == nil && envelope.Data != nil {
		list, _ := json.Marshal(envelope.Data)
		body = string(list)
	}
	return fmt.Sprintf("%s %s", body, db.Snapshot().AppendJSON(nil))
}
