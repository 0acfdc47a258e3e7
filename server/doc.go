// Package server serves a pickup database over HTTP.
//
// Start at routes.go, which declares the whole API, and request.go, which
// runs a request. Options configures a Handler; a request is one request to one
// route; a problem is the answer to a request that fails.
//
// A top-level array of the database is a collection of records, a top-level object
// is a singular resource. Gin matches the path, and the current snapshot decides
// what it names. Names and ids may contain any percent-encoded character. Paths
// under /_/ belong to the service, so a member called _ has none.
//
// Package query and package database parse the query of a URL and select the
// records. This package adds what HTTP needs: entity tags (tag.go), preconditions,
// pagination headers, CSV, media types. A GET reads one snapshot. A write is one
// transaction, and its preconditions are checked within it. stream.go sends the
// changes of a resource as server-sent events: streamtopics.go encodes the events, and
// streamhub.go does that once for all streams that ask for the same. changes.go has
// the history, undo.go and snapshots.go the ways back to an earlier state. session.go
// selects the fork of the database that a request works on, if it names a session, and
// sessions.go has the resources under /_/sessions.
//
// front.go takes off what a path has before that of a route: a session, what
// Options.Routes rewrite, and the prefix. static.go serves files where the API has
// nothing. Middleware runs in this order, each in a file of its own: request id, metrics,
// access log, request log, recovery from panics, headers of every answer, Host check,
// cross-origin rules, credentials, preferences, simulation. Handlers return errors.
// errors.go maps them to statuses, and each becomes a problem document (RFC 9457).
//
// simulate.go simulates slow and failing answers: those that a request prefers
// (simulateprefer.go), and those of rules, which simulaterules.go changes at run time.
// wait.go delays a request, holds.go holds one until it is released, and
// simulatefault.go cuts connections.
package server
