// Package server serves a pickup database over HTTP.
//
// Options configures a Handler. Start at routes.go, which declares the whole API. serve.go
// runs a request to one of the routes: it enters the session that the request names, waits
// for the revision that it asks for (freshness.go), and calls a handler. The handlers of a
// resource are in a file with its name, and nothing but routes.go refers to them: read.go
// and write.go have the handlers for data; index.go, changes.go, undo.go (also reset),
// snapshots.go, generate.go, requests.go, sessions.go, simulate_routes.go (of /_/simulate, and
// held requests), status.go (also findings and values), health.go, metrics.go, openapi.go (all
// descriptions), agent.go (MCP, with package agents) and pages.go the handlers for the service.
// They use request.go, the request; query.go and body.go, which parse what was sent; and
// send.go, tag.go and errors.go, the answers. A path without a resource may be a file (static.go).
//
// A top-level array of the database is a collection of records, a top-level object
// is a singular resource. Gin matches the path, and the current snapshot decides
// what it names. Names and ids may contain any percent-encoded character. Paths
// under /_/ belong to the service, so a field of the database called _ has none.
//
// Package query and package database parse the query of a URL and select the
// records. This package adds what HTTP needs: entity tags, preconditions, pagination
// headers, CSV, media types. A GET reads one snapshot. A write is one transaction, and its
// preconditions are checked within it. stream.go begins the streams of package live. A
// request that names a session works on its fork of the database (session.go).
//
// handler.go removes what comes before the path of a route: a session, what
// Options.Routes rewrite, and the prefix; address.go remembers the URL that the client sent.
// Middleware runs in this order: drain, request id, what observes requests (metrics, access
// log, request log), recovery from panics, headers of every answer (middleware.go), the Host
// check and cross-origin rules (origin.go), credentials (authenticate.go), preferences
// (prefer.go), simulation. observe.go has the metrics of requests and commits. Handlers return
// errors. Package problem maps them to statuses, and each becomes a problem document (RFC 9457).
//
// simulate.go simulates slow and failing answers as requests prefer and rules say: wait.go
// delays and cuts them, and hold.go keeps the requests that wait to be released. budget.go
// limits the memory for requests, and cache.go caches bodies.
package server
