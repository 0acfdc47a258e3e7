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
			Version:     req.Version,
			ReadOnly:    req.ReadOnly,
			Auth:        req.Auth != nil,
			Prefix:      req.Prefix,
			Answers:     req.Answers,
			SessionPath: req.sessionPath,
			Serves: func(path string) bool {
				return req.offers(path) && (req.MaxSessions >= 0 || !strings.HasPrefix(path, "/_/sessions/"))
			},
		})
	})
}

// sendDescription sends a description of the current database.
func (req *request) sendDescription(contentType string, text func() []byte) error {
	return req.sendText(response{media: contentType}, func(b []byte) []byte { return append(b, text()...) })
}

// inferSchema serves GET /_/schema.json: the schema inferred from the data, as by pickup schema.
func (req *request) inferSchema() error {
	return req.sendDescription(openapi.SchemaType, func() []byte { return describe.InferSchema(req.snap) })
}

// schema serves GET /_/schemas/NAME: the JSON Schema of a record or of a singular resource, with
// the definitions that the schema refers to.
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
	maxListed = 30   // collections, and relations
)

// llms serves GET /_/llms.txt: the API for an agent that can send requests, in less than 2 KB for any
// database. Disabled features are left out.
func (req *request) llms() error {
	var b strings.Builder
	line := func(on bool, format string, args ...any) {
		if on {
			fmt.Fprintf(&b, format+"\n", args...)
		}
	}
	at := req.sessionPath
	first := req.base() + "/COLLECTION"
	one := "COLLECTION"
	write := req.refuseWrites() == nil
	var names, relations []string
	for _, c := range slices.Backward(req.index().Collections) {
		if len(c.Href) <= 120 {
			first, one = c.Href, c.Name
		}
		names = append(names, fmt.Sprintf("%s (%d)", c.Name, c.Count))
	}
	slices.Reverse(names)
	for _, r := range req.snap.Relations(100) {
		relations = append(relations, fmt.Sprintf("%s.%s refers to %s", r.From, r.Member, r.To))
	}
	what, where, edit := req.storeWords()
	line(true, "- Types: %s/_/types.d.ts. Do not read %[1]s/_/openapi.json, which is large, unless you generate a client.", at)
	if req.Source != nil && write && req.session == nil {
		line(true, "- Small changes: "+edit+"; every save is live. "+
			"Then run `pickup check`: it lists errors as FILE:LINE:COLUMN.", httpx.Clip(req.Source().Name))
	}
	line(true, "- Read with few tokens: GET %s?_sort=-id&_fields=id&_start=0&_limit=20; X-Total-Count has the number. "+
		"Filters: f=v, f:ne, f:gt, f:lte, f:contains, f:in=a,b; q=text; _where={\"or\":[…]}. "+
		"_embed and _expand add related records.", first)
	line(write, "- Write: POST %s, PATCH or DELETE the same with /ID; 422 lists every error. "+
		"`Prefer: tx=rollback` tries a write.", first)
	line(write, "- More data: POST %s/_/generate with {\"collections\": {%q: 50}}.", at, one)
	line(write, "- Take back: POST %s/_/undo. What changed: GET %[1]s/_/changes?_limit=10&_fields=id.", at)
	if req.session != nil {
		line(true, "- This is the session %s: nothing reaches %s before a person commits it at /_/#/_/sessions. "+
			"GET /_/sessions/%[1]s/changes is the diff.", req.session.name, where)
	} else {
		line(write && req.MaxSessions >= 0, "- For a review by a person: PUT /_/sessions/agent with {\"keep\": true}, "+
			"then put /_/s/agent before the paths. GET /_/sessions/agent/changes is the diff; "+
			"the person commits it at /_/#/_/sessions.")
	}
	line(req.Requests, "- What the front end asked for, and why it was refused: GET /_/requests.")
	line(req.Simulate != nil && write, "- Slow and failing responses: `Prefer: delay=500` or `code=503`; "+
		"for the front end PUT %s/_/simulate with [{\"path\": \"%s\", \"code\": 503, \"times\": 1}].",
		at, strings.TrimPrefix(first, req.base()))
	head := "# pickup\n\nIt serves " + what + " as a REST API."
	room := maxLLMs - b.Len()
	if len(names) > 0 {
		head += " Collections: " + listed(names, room/2) + "."
	}
	if len(relations) > 0 {
		head += " " + listed(relations, room/4) + "."
	}
	return req.sendDescription(openapi.TypesType, func() []byte { return []byte(head + "\n\n" + b.String()) })
}

// storeWords returns words for the store, the contents, and how a person edits the contents.
func (req *request) storeWords() (what, where, edit string) {
	if req.server.db.Shared() {
		return "a database in an etcd cluster", "the database", "edit %s"
	}
	if req.Source != nil && req.Source().Folder {
		return "a folder of JSON files", "the files", "edit the files of %s"
	}
	return "a JSON file", "the file", "edit %s"
}

// listed joins as many names as fit into room bytes, and counts the others.
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
