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

// TestMigrationPage holds the README to what is true: its table of differences
// has those that TestCompat allows and no other, and the two spellings of an
// example have one answer.
func TestMigrationPage(t *testing.T) {
	page := string(readFile(t, "../README.md"))
	_, page, _ = strings.Cut(page, "\n## Coming from json-server\n")
	page, _, _ = strings.Cut(page, "\n## ")
	examples, differences, ok := strings.Cut(page, "\n| here | there |\n")
	if !ok {
		t.Fatal("the README has no such page")
	}
	listed := make(map[string]bool)
	for line := range strings.Lines(differences) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") {
			listed[line] = true
		}
	}
	for _, d := range compatDifferences {
		row := "| " + d.here + " | " + d.there + " |"
		if !listed[row] {
			t.Errorf("the README lacks\n%s", row)
		}
		delete(listed, row)
	}
	for row := range listed {
		t.Errorf("the README tells of what is no difference:\n%s", row)
	}
	example := regexp.MustCompile("(?m)^\\| ([^|]+) \\| (`[^`]+`|–) \\| (`[^`]+`|–) \\|$")
	found := example.FindAllStringSubmatch(examples, -1)
	if len(found) != strings.Count(examples, "\n| ")-1 || len(found) < 10 {
		t.Errorf("%d examples can be read", len(found))
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

// ofSample returns what a server of the sample answers, without what is around
// the records of a page.
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
