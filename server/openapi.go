package server

import (
	"fmt"
	"slices"
	"strings"

	"pickup/internal/describe"
	"pickup/server/internal/httpx"
	"pickup/server/openapi"
)

// openAPI serves GET /_/openapi.json.
func (req *request) openAPI() error {
	return req.sendDescription(openapi.JSONType, func() []byte {
		return openapi.Document(req.snap, openapi.Options{
			Version: req.Version, ReadOnly: req.ReadOnly, Auth: req.Auth != nil, Prefix: req.Prefix, Answers: req.Answers, SessionPath: req.sessionPath,
			Serves: func(path string) bool {
				return req.offers(path) && (req.MaxSessions >= 0 || !strings.HasPrefix(path, "/_/sessions/"))
			},
		})
	})
}

// sendDescription sends a description of the current database.
func (req *request) sendDescription(contentType string, text func() []byte) error {
	return req.respond(response{media: contentType}, func(b []byte) ([]byte, error) { return append(b, text()...), nil })
}

// inferSchema serves GET /_/schema.json: the schema that pickup schema makes from the data.
func (req *request) inferSchema() error {
	return req.sendDescription(openapi.SchemaType, func() []byte { return describe.InferSchema(req.snap) })
}

// schema serves GET /_/schemas/NAME: the JSON Schema of a record or of a singular
// resource, with everything that it refers to.
func (req *request) schema() error {
	name := req.Param("collection")
	text, ok := openapi.RecordSchema(req.snap, name)
	if !ok {
		return req.noCollection(req.snap, name)
	}
	return req.sendDescription(openapi.SchemaType, func() []byte { return append(text, '\n') })
}

// types serves GET /_/types.d.ts: TypeScript types for records, request bodies and the
// whole database.
func (req *request) types() error {
	return req.sendDescription(openapi.TypesType, func() []byte { return openapi.TypeScript(req.snap, req.Answers) })
}

const (
	maxLLMs   = 1950 // bytes
	maxListed = 30   // collections, and relations, that it names
)

// llms serves GET /_/llms.txt: what an agent that can send requests should know, in less
// than 2 KB, whatever the database. It leaves out what is off.
func (req *request) llms() error {
	var b strings.Builder
	line := func(on bool, format string, args ...any) {
		if on {
			fmt.Fprintf(&b, format+"\n", args...)
		}
	}
	at := req.sessionPath
	first := ""
	one := "COLLECTION"
	write := req.refuseWrites() == nil
	var names, relations []string
	index := req.index().Collections
	for _, c := range index {
		if first == "" && len(c.Href) <= 120 {
			first, one = c.Href, c.Name
		}
		names = append(names, fmt.Sprintf("%s (%d)", c.Name, c.Count))
	}
	for _, r := range req.snap.Relations(100) {
		relations = append(relations, fmt.Sprintf("%s.%s refers to %s", r.From, r.Member, r.To))
	}
	if first == "" {
		first = req.base() + "/COLLECTION"
	}
	what, where, edit := req.storeWords()
	line(true, "- Types: %s. Do not read %s, which is large, unless you generate a client.", at+"/_/types.d.ts", at+"/_/openapi.json")
	if req.Source != nil && write && req.session == nil {
		line(true, "- Small changes: "+edit+"; every save is live. Then run `pickup check`: it lists faults as FILE:LINE:COLUMN.", httpx.Clip(req.Source().Name))
	}
	line(true, "- Read with few tokens: GET %s?_sort=-id&_fields=id&_start=0&_limit=20; X-Total-Count has the number. Filters: f=v, f:ne, f:gt, f:lte, f:contains, f:in=a,b; q=text; _where={\"or\":[…]}. _embed and _expand add related records.", first)
	line(write, "- Write: POST %s, PATCH or DELETE the same with /ID; 422 names every fault. `Prefer: tx=rollback` tries a write.", first)
	line(write, "- More data: POST %s with {\"collections\": {%q: 50}}.", at+"/_/generate", one)
	line(write, "- Take back: POST %s. What changed: GET %s?_limit=10&_fields=id.", at+"/_/undo", at+"/_/changes")
	if req.session != nil {
		line(true, "- This is the session %s: nothing reaches %s before a person commits it at %s/#/_/sessions. GET %s/%[1]s/changes is the diff.", req.session.name, where, "/_", "/_/sessions")
	} else {
		line(write && req.MaxSessions >= 0, "- For a review by a person: PUT %s/agent with {\"keep\": true}, then put %sagent before the paths. GET %[1]s/agent/changes is the diff; the person commits it at %[3]s/#/_/sessions.",
			"/_/sessions", sessionPrefix, "/_")
	}
	line(req.Requests, "- What the front end asked for, and why it was refused: GET %s.", "/_/requests")
	line(req.Simulate != nil && write, "- Slow and failing answers: `Prefer: delay=500` or `code=503`; for the front end PUT %s with [{\"path\": \"%s\", \"code\": 503, \"times\": 1}].",
		at+"/_/simulate", strings.TrimPrefix(first, req.base()))
	head, room := "# pickup\n\nIt serves "+what+" as a REST API.", maxLLMs-b.Len()
	if len(names) > 0 {
		head += " Collections: " + listed(names, room/2) + "."
	}
	if len(relations) > 0 {
		head += " " + listed(relations, room/4) + "."
	}
	return req.sendDescription(openapi.TypesType, func() []byte { return []byte(head + "\n\n" + b.String()) })
}

// storeWords returns how texts call the store and its contents, and how a person edits them.
func (req *request) storeWords() (what, where, edit string) {
	if req.server.db.Shared() {
		return "a database in an etcd cluster", "the database", "edit %s"
	}
	if req.Source != nil && req.Source().Folder {
		return "a folder of JSON files", "the files", "edit the files of %s"
	}
	return "a JSON file", "the file", "edit %s"
}

// listed joins names, as many as that many bytes can have, and counts the others.
func listed(names []string, room int) string {
	n := 0
	for ; n < min(len(names), maxListed) && room >= len(names[n])+2; n++ {
		room -= len(names[n]) + 2
	}
	if n < len(names) {
		names = append(slices.Clip(names[:n]), fmt.Sprintf("%d more", len(names)-n))
	}
	return strings.Join(names, ", ")
}
