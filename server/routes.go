package server

import (
	"cmp"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/server/openapi"
)

// routes is the whole API. HEAD and OPTIONS follow from the methods of a line,
// and a final slash makes no difference. Names and ids in a path may hold any
// character that is percent-encoded, including a slash.
//
// The data decides what a first name means: a line with of serves the path only if
// the database has such a field.
//
// A parameter that a line does not name is 400, except that those that bypass caches are
// ignored, that data ignores some (see takeKnown), and that the parameters for simulations
// are taken out before.
var routes = []route{
	// The collections and objects, with their URLs.
	{path: "/", get: (*request).readIndex, parameters: parameters{"GET": anyParameter}},
	// The whole database, unless it has a field called db. A PATCH is a transaction.
	{path: "/db", of: nothing, get: (*request).readDatabase, patch: (*request).patchDatabase, acceptPatch: acceptDatabasePatch,
		parameters: parameters{"GET": "_since"}},
	// A collection. PUT, PATCH and DELETE change the record whose id is in the query.
	{path: "/:collection", of: array, get: (*request).list, query: (*request).list, post: (*request).create,
		put: (*request).replace, patch: (*request).patch, delete: (*request).remove, acceptPatch: acceptPatch,
		parameters: parameters{"GET": anyParameter, "QUERY": anyParameter, "PUT": anID, "PATCH": anID, "DELETE": anID + " _dependent"}},
	// A singular object.
	{path: "/:collection", of: object, get: (*request).read,
		put: (*request).replace, patch: (*request).patch, acceptPatch: acceptPatch, parameters: parameters{"GET": ofRecord}},
	// A record.
	{path: "/:collection/:id", of: array, get: (*request).read,
		put: (*request).replace, patch: (*request).patch, delete: (*request).remove, acceptPatch: acceptPatch,
		parameters: parameters{"GET": ofRecord, "PUT": anID, "PATCH": anID, "DELETE": anID + " _dependent"}},
	// The records of another collection that refer to a record.
	{path: "/:collection/:id/:child", of: array, get: (*request).list, query: (*request).list, post: (*request).create,
		parameters: parameters{"GET": anyParameter, "QUERY": anyParameter}},

	// The state of the service. The first two need no credentials.
	{path: openapi.LivezPath, get: (*request).livez, outside: true},
	{path: openapi.ReadyzPath, get: (*request).readyz, parameters: parameters{"GET": "verbose"}, outside: true},
	{path: openapi.MetricsPath, get: (*request).metrics, outside: true}, // if Options.Metrics is set
	// What the page needs at start.
	{path: openapi.StatusPath, get: (*request).readStatus},
	// What is wrong with the database.
	{path: openapi.FindingsPath, get: (*request).listFindings, parameters: parameters{"GET": "_start _end"}}, // if Options.Findings is set
	{path: openapi.FindingsPath + "/:name", delete: (*request).dismissFinding},
	// The values of a field, for suggestions.
	{path: openapi.ValuesPath + "/:collection/:member", get: (*request).listValues, parameters: parameters{"GET": "q _limit"}},
	// The latest revisions, and those to come.
	{path: openapi.ChangesPath, get: (*request).listChanges, parameters: parameters{"GET": "_since _limit _fields _streams _requests"}},
	// Back to an earlier state.
	{path: openapi.UndoPath, post: (*request).undo},
	{path: openapi.ResetPath, post: (*request).reset},
	// Several changes at once.
	{path: openapi.TransactionPath, post: (*request).transact},
	// Made-up records.
	{path: openapi.GeneratePath, post: (*request).generate},
	{path: openapi.SnapshotsPath, get: (*request).listSnapshots},
	{path: openapi.SnapshotsPath + "/:name", get: (*request).readSnapshot, put: (*request).keepSnapshot, delete: (*request).forgetSnapshot},
	// The latest requests, if Options.Requests is set.
	{path: openapi.RequestsPath, get: (*request).listRequests, delete: (*request).clearRequests, parameters: parameters{"GET": "_since"}, outside: true},
	{path: openapi.RequestsPath + "/:name", get: (*request).readRequest, outside: true},
	// The sessions.
	{path: openapi.SessionsPath, get: (*request).listSessions, outside: true},
	{path: openapi.SessionsPath + "/:name", get: ofSession((*request).readSession), put: (*request).putSession,
		delete: ofSession((*request).endSession), outside: true},
	{path: openapi.SessionsPath + "/:name/changes", get: ofSession((*request).sessionChanges), outside: true},
	{path: openapi.SessionsPath + "/:name/reset", post: ofSession((*request).resetSession), outside: true},
	{path: openapi.SessionsPath + "/:name/commit", post: ofSession((*request).commitSession), outside: true},
	// The rules for simulated answers, and the requests that are held, if
	// Options.Simulate is set.
	{path: openapi.SimulatePath, get: (*request).listStubs, put: (*request).setStubs, post: (*request).addStub, delete: (*request).removeStubs},
	{path: openapi.SimulatePath + "/:name", delete: (*request).removeStubs},
	{path: openapi.HoldsPath, get: (*request).listHolds},
	{path: openapi.ReleasePath + "/:name", post: (*request).releaseHold, parameters: parameters{"POST": "wait"}},
	// Descriptions of the API, made from the data and the rules.
	{path: openapi.MCPPath, post: (*request).mcp, reads: true},
	{path: openapi.LLMsPath, get: (*request).llms}, // for agents
	{path: openapi.OpenAPIPath, get: (*request).openAPI},
	{path: openapi.TypesPath, get: (*request).types},
	{path: openapi.SchemaPath, get: (*request).inferSchema},
	{path: openapi.SchemasPath + ":collection", get: (*request).schema},
	// The page that shows the data, and the files that it loads, unless Options.NoPage is set.
	{path: openapi.PagePath, get: (*request).page, outside: true},
	{path: openapi.PagePath + "/page/:file", get: (*request).page, outside: true},
	// A page that shows the OpenAPI document, and the files that it loads.
	{path: openapi.DocsPath, get: (*request).docs, outside: true},
	{path: openapi.DocsPath + "/:file", get: (*request).docs, outside: true},
}

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
			s.service = append(s.service, link{name, path, route.outside})
		}
		path = strings.TrimSuffix(path, "/")
		r.Match(methods, path+"/", s.serve(choice))
		if path != "" {
			r.Match(methods, path, s.serve(choice))
		}
	}
}
