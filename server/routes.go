package server

import (
	"cmp"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/server/openapi"
)

// routes is the whole API. HEAD and OPTIONS follow from the methods of a line, and a final slash makes
// no difference. Names and ids in a path may contain any percent-encoded character, also a slash.
//
// The data decides the meaning of a first name: a line with of serves the path only if the database
// has such a field.
//
// A parameter that the line does not list is 400. The exceptions are parameters that bypass caches,
// parameters for simulations, and those that takeKnown ignores.
var routes = []route{
	// The collections and objects, with their URLs.
	{path: "/", get: (*request).readIndex, parameters: anyParameter},
	// The whole database, unless it has a field called db.
	{path: "/db", of: nothing, get: (*request).readDatabase, parameters: "_since"},
	// A collection. PUT, PATCH and DELETE change the record whose id is in the query.
	{path: "/:collection", of: array, get: (*request).list, query: (*request).list, post: (*request).create,
		put: (*request).replace, patch: (*request).patch, delete: (*request).remove,
		parameters:      anyParameter,
		writeParameters: ofWrites},
	// A singular object.
	{path: "/:collection", of: object, get: (*request).read,
		put: (*request).replace, patch: (*request).patch, parameters: ofRecord},
	// A record.
	{path: "/:collection/:id", of: array, get: (*request).read,
		put: (*request).replace, patch: (*request).patch, delete: (*request).remove,
		parameters:      ofRecord,
		writeParameters: ofWrites},
	// The records of another collection that refer to a record.
	{path: "/:collection/:id/:child", of: array, get: (*request).list, query: (*request).list, post: (*request).create,
		parameters: anyParameter},

	// The state of the service. The first two need no credentials.
	{path: "/_/livez", get: (*request).livez},
	{path: "/_/readyz", get: (*request).readyz, parameters: "verbose"},
	{path: "/_/metrics", get: (*request).metrics},
	// The data that the page needs when it starts.
	{path: "/_/status", get: (*request).readStatus},
	// The faults of the database.
	{path: "/_/findings", get: (*request).listFindings, parameters: "_start _end"},
	{path: "/_/findings/:name", delete: (*request).dismissFinding},
	// The values of a field, for suggestions.
	{path: "/_/values/:collection/:member", get: (*request).listValues, parameters: "q _limit"},
	// The latest revisions and, as a stream, the next ones.
	{path: "/_/changes", get: (*request).listChanges, parameters: "_since _limit _fields _streams _requests"},
	// Back to an earlier state.
	{path: "/_/undo", post: (*request).undo},
	{path: "/_/reset", post: (*request).reset},
	// Several changes at once.
	{path: "/_/transaction", post: (*request).transact},
	// Made-up records.
	{path: "/_/generate", post: (*request).generate},
	{path: "/_/snapshots", get: (*request).listSnapshots},
	{path: "/_/snapshots/:name", get: (*request).readSnapshot, put: (*request).keepSnapshot,
		delete: (*request).forgetSnapshot},
	// The latest requests, if Options.Requests is set.
	{path: "/_/requests", get: (*request).listRequests, delete: (*request).clearRequests, parameters: "_since"},
	{path: "/_/requests/:name", get: (*request).readRequest},
	// The sessions.
	{path: "/_/sessions", get: (*request).listSessions},
	{path: "/_/sessions/:name", get: ofSession((*request).readSession), put: (*request).putSession,
		delete: ofSession((*request).endSession)},
	{path: "/_/sessions/:name/changes", get: ofSession((*request).sessionChanges)},
	{path: "/_/sessions/:name/reset", post: ofSession((*request).resetSession)},
	{path: "/_/sessions/:name/commit", post: ofSession((*request).commitSession)},
	// The rules for simulated responses, and the held requests, if Options.Simulate is set.
	{path: "/_/simulate", get: (*request).listStubs, put: (*request).setStubs, post: (*request).addStub,
		delete: (*request).removeStubs},
	{path: "/_/simulate/:name", delete: (*request).removeStubs},
	{path: "/_/holds", get: (*request).listHolds},
	{path: "/_/release/:name", post: (*request).releaseHold, writeParameters: map[string]string{"POST": "wait"}},
	// Descriptions of the API, made from the data and the rules.
	{path: "/_/mcp", post: (*request).mcp, reads: true},
	{path: "/_/llms.txt", get: (*request).llms},
	{path: "/_/openapi.json", get: (*request).openAPI},
	{path: "/_/types.d.ts", get: (*request).types},
	{path: "/_/schema.json", get: (*request).inferSchema},
	{path: "/_/schemas/:collection", get: (*request).schema},
	// The page that shows the data, and the files that it loads, unless Options.NoPage is set.
	{path: "/_", get: (*request).page},
	{path: "/_/page/:file", get: (*request).page},
	// A page that shows the OpenAPI document, and the files that it loads.
	{path: "/_/docs", get: (*request).docs},
	{path: "/_/docs/:file", get: (*request).docs},
}

// ofWrites are the parameters of writes of a record.
var ofWrites = map[string]string{"PUT": anID, "PATCH": anID, "DELETE": anID + " _dependent"}

// register declares the routes on r.
func (s *server) register(r gin.IRoutes) {
	choices := make(map[string][]*route) // routes that share a path
	for i := range routes {
		path := routes[i].path
		choices[path] = append(choices[path], &routes[i])
	}
	// A field called db comes first, and /%64b is the same path.
	choices["/db"] = append(choices["/db"], choices["/:collection"]...)
	choices["/:collection"] = choices["/db"]
	for _, route := range routes {
		path, choice := route.path, choices[route.path]
		if choice == nil || !s.offers(path) {
			continue
		}
		choices[path] = nil
		if name, ok := strings.CutPrefix(path, "/_"); ok && route.get != nil && !strings.Contains(name, ":") {
			name, _, _ = strings.Cut(cmp.Or(strings.TrimPrefix(name, "/"), "page"), ".")
			s.service = append(s.service, link{name, path, openapi.IsOutside(path)})
		}
		path = strings.TrimSuffix(path, "/")
		r.Match(methods, path+"/", s.serve(choice))
		if path != "" {
			r.Match(methods, path, s.serve(choice))
		}
	}
}
