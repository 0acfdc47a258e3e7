package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Numbers of records in a response.
const (
	usual = 20 // if the agent does not ask for more
	most  = 200
)

// get reads a resource into v.
func get(s Service, path string, v any) (http.Header, error) {
	h, text, err := s.Do(http.MethodGet, path, nil, "")
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	return h, err
}

// text returns the response to a request.
func text(s Service, method, path string, body any) (string, error) {
	_, t, err := s.Do(method, path, body, "")
	return string(t), err
}

// A status is a part of the answer to GET /_/status.
type status struct {
	Mode                 struct{ ReadOnly bool }
	File                 struct{ State, Detail string }
	Findings             struct{ Count int }
	Collections, Objects []struct {
		Name, Key string
		Count     int
	}
	Relations []struct{ From, Member, To, Expand string }
}

// broken returns a line about a file that does not parse, which has no findings, or "".
func (s status) broken() string {
	if s.File.State != "broken" {
		return ""
	}
	return s.File.Detail + "\n"
}

type describeInput struct {
	Collection string `json:"collection,omitempty"`
}

func describe(s Service, in describeInput) (string, error) {
	if in.Collection != "" {
		return text(s, http.MethodGet, "/_/schemas/"+url.PathEscape(in.Collection), nil)
	}
	var status status
	if _, err := get(s, "/_/status", &status); err != nil {
		return "", err
	}
	types, err := text(s, http.MethodGet, "/_/types.d.ts", nil)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	switch {
	case status.Mode.ReadOnly:
		b.WriteString("You may only read.\n")
	case s.Session() != "":
		const format = "You work in the session %s, a copy of the database. A person commits your changes at %s; " +
			"until then only requests below /_/s/%[1]s see them.\n"
		fmt.Fprintf(&b, format, s.Session(), s.ReviewURL())
	default:
		b.WriteString("Your writes are stored at once. undo takes them back.\n")
	}
	b.WriteString(status.broken())
	if n := status.Findings.Count; n > 0 {
		fmt.Fprintf(&b, "There are %d findings: see check.\n", n)
	}
	for _, c := range status.Collections {
		fmt.Fprintf(&b, "%s: %d records, the id is %s\n", c.Name, c.Count, c.Key)
	}
	for _, o := range status.Objects {
		fmt.Fprintf(&b, "%s: an object\n", o.Name)
	}
	for _, r := range status.Relations {
		fmt.Fprintf(&b, "%s.%s refers to %s (embed=%s)\n", r.From, r.Member, r.To, r.Expand)
	}
	return b.String() + recordTypes(types), nil
}

type queryInput struct {
	Collection string   `json:"collection" jsonschema:"a collection or object"`
	ID         ID       `json:"id,omitempty"`
	Path       []string `json:"path,omitempty" jsonschema:"into a record or object: [\"videos\", \"7\"]"`
	Where      string   `json:"where,omitempty" jsonschema:"filters as in a URL: status=Canceled&price:gte=10&q=text"`
	Sort       string   `json:"sort,omitempty" jsonschema:"as in -price,title"`
	Fields     string   `json:"fields,omitempty" jsonschema:"as in id,driver.name"`
	Embed      string   `json:"embed,omitempty" jsonschema:"relations to add"`
	Start      int      `json:"start,omitempty" jsonschema:"the first record, from 0"`
	Limit      int      `json:"limit,omitempty" jsonschema:"20 by default, at most 200"`
}

func query(s Service, in queryInput) (string, error) {
	if in.Collection == "" {
		return "", errors.New("collection is missing: describe lists them")
	}
	if in.Start < 0 {
		return "", fmt.Errorf("start is %d: it must be 0 or more", in.Start)
	}
	most, err := limit(in.Limit)
	if err != nil {
		return "", err
	}
	isObject, err := s.IsObject(in.Collection)
	if err != nil {
		return "", err
	}
	q, err := url.ParseQuery(in.Where)
	if err != nil {
		return "", fmt.Errorf("where is not a query as in a URL: %w", err)
	}
	for _, name := range []string{"_code", "_delay", "_fault", "_hold"} {
		if q.Has(name) {
			return "", fmt.Errorf("%s has no effect here: responses to an agent are not simulated", name)
		}
	}
	for name, value := range map[string]string{"_sort": in.Sort, "_fields": in.Fields, "_embed": in.Embed} {
		if value != "" {
			q.Set(name, value)
		}
	}
	isList := in.ID == "" && !isObject
	path, err := in.address(isList)
	if err != nil {
		return "", err
	}
	if isList {
		q.Set("_start", strconv.Itoa(in.Start))
		q.Set("_limit", strconv.Itoa(most))
	}
	h, value, err := s.Do(http.MethodGet, path+"?"+q.Encode(), nil, "")
	if err != nil || !bytes.HasPrefix(value, []byte("[")) {
		return string(value), err
	}
	var records []json.RawMessage
	if err := json.Unmarshal(value, &records); err != nil {
		return "", err
	}
	total := len(records)
	if isList {
		total, _ = strconv.Atoi(h.Get("X-Total-Count"))
	} else { // a nested list has come whole
		records = records[min(in.Start, total):]
		records = records[:min(most, len(records))]
	}
	lines, shown := list(records)
	head := fmt.Sprintf("%d of %d records", shown, total)
	if next := in.Start + shown; next < total && shown > 0 {
		head += fmt.Sprintf("; the next ones start at start=%d", next)
	}
	return head + "\n" + lines, nil
}

// address returns the path of the URL of a query.
func (in queryInput) address(isList bool) (string, error) {
	if len(in.Path) > 0 && isList {
		return "", errors.New("path leads on from a record: id is missing")
	}
	if slices.Contains(in.Path, "") {
		return "", errors.New("path has an empty name, which has no address")
	}
	names := []string{in.Collection}
	if in.ID != "" {
		names = append(names, string(in.ID))
	}
	path := ""
	for _, name := range append(names, in.Path...) {
		path += "/" + url.PathEscape(name)
	}
	return path, nil
}

// limit returns the number of records for an agent that asks for n; 0: the usual number.
func limit(n int) (int, error) {
	if n < 0 {
		return 0, fmt.Errorf("limit is %d: it must be 1 or more", n)
	}
	return min(cmp.Or(n, usual), most), nil
}

type limitInput struct {
	Limit int `json:"limit,omitempty" jsonschema:"20 by default, at most 200"`
}

// A change is a change of a session or of a revision.
type change struct {
	Collection, ID, Op string
	Before, After      json.RawMessage
}

func changes(s Service, in limitInput) (string, error) {
	most, err := limit(in.Limit)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if s.Session() != "" {
		var all []change
		_, err := get(s, "/_/sessions/"+s.Session()+"/changes", &all)
		fmt.Fprintf(&b, "%d changes are not committed\n", len(all))
		for _, c := range all[:min(len(all), most)] {
			c.write(&b)
		}
		return b.String(), err
	}
	var revisions []struct {
		Rev, At, By, Session string
		Changes              []change
		Collections          map[string]int
	}
	_, err = get(s, "/_/changes?_limit="+strconv.Itoa(most), &revisions)
	for _, r := range revisions {
		fmt.Fprintln(&b, strings.TrimSpace(strings.Join([]string{r.Rev, r.At, r.By, r.Session}, " ")))
		for _, c := range r.Changes {
			c.write(&b)
		}
		for name, n := range r.Collections {
			fmt.Fprintf(&b, "%d changes in %s\n", n, name)
		}
	}
	return b.String(), err
}

func check(s Service, _ struct{}) (string, error) {
	var status status
	if _, err := get(s, "/_/status", &status); err != nil {
		return "", err
	}
	var findings []json.RawMessage
	h, err := get(s, "/_/findings?_start=0&_end=50", &findings)
	lines, _ := list(findings)
	return status.broken() + h.Get("X-Total-Count") + " findings\n" + lines, err
}

type requestsInput struct {
	ID     ID   `json:"id,omitempty"`
	Failed bool `json:"failed,omitempty" jsonschema:"only requests that were refused or failed"`
	Limit  int  `json:"limit,omitempty"`
}

func requests(s Service, in requestsInput) (string, error) {
	if in.ID != "" {
		return text(s, http.MethodGet, "/_/requests/"+url.PathEscape(string(in.ID)), nil)
	}
	most, err := limit(in.Limit)
	if err != nil {
		return "", err
	}
	var all []json.RawMessage
	_, err = get(s, "/_/requests", &all)
	if in.Failed {
		all = slices.DeleteFunc(all, func(r json.RawMessage) bool {
			var x struct{ Status int }
			return json.Unmarshal(r, &x) == nil && 0 < x.Status && x.Status < http.StatusBadRequest
		})
	}
	lines, _ := list(all[:min(len(all), most)])
	return cmp.Or(lines, "no requests"), err
}

type writeInput struct {
	Changes []Operation `json:"changes"`
	Try     bool        `json:"try,omitempty" jsonschema:"show the result of the write, and store nothing"`
}

func write(s Service, in writeInput) (string, error) {
	if len(in.Changes) == 0 {
		return "", errors.New("changes is missing or empty: nothing was stored")
	}
	prefer := ""
	if in.Try {
		prefer = "tx=rollback"
	}
	_, text, err := s.Do(http.MethodPost, "/_/transaction", in.Changes, prefer)
	if err != nil {
		return "", err
	}
	var stored struct {
		Rev     string
		Records []json.RawMessage
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return "", err
	}
	head := "stored as revision " + stored.Rev
	if in.Try {
		head = "not stored: this is what the write would do"
	}
	records := slices.DeleteFunc(stored.Records, func(r json.RawMessage) bool { return string(r) == "null" })
	lines, _ := list(records)
	return head + "\n" + lines, nil
}

type undoInput struct {
	Rev string `json:"rev,omitempty" jsonschema:"as in changes, or in the response of write"`
}

func undo(s Service, in undoInput) (string, error) { return text(s, http.MethodPost, "/_/undo", in) }

type generateInput struct {
	Collections map[string]int `json:"collections" jsonschema:"how many records, as in {\"posts\": 50}"`
	Seed        *int           `json:"seed,omitempty" jsonschema:"the same makes the same records"`
}

func generate(s Service, in generateInput) (string, error) {
	return text(s, http.MethodPost, "/_/generate", in)
}

type simulateInput struct {
	Rules []json.RawMessage `json:"rules" jsonschema:"as in {\"path\": \"/posts/**\", \"methods\": [\"POST\"], \"code\": 503, \"times\": 1}"`
}

func simulate(s Service, in simulateInput) (string, error) {
	return text(s, http.MethodPut, "/_/simulate", in.Rules)
}
