// Package server answers HTTP for a pickup database.
//
// A path names a resource: a top-level array of the database is a collection
// of records, a top-level object is a singular resource. Which ones there are
// comes and goes with the file, so no routes are registered for them: each
// request takes one snapshot, route finds in it what the path names, and the
// resource's kind says which methods it has.
//
//	/                             an index of what there is
//	/db                           the whole database, unless a member is called db; a transaction
//	/{collection}                 list, create; replace, patch and delete with the id in the query
//	/{collection}/{id}            read, replace, patch, delete
//	/{parents}/{id}/{collection}  the records that refer to that parent
//	/{object}                     read, replace, patch
//	/_/livez, /_/readyz, /_/metrics
//	                              how the service is
//	/_/openapi.json, /_/docs, /_/schemas/{collection}, /_/types.d.ts
//	                              what it answers, from the data and the rules
//
// What is under /_/ is the service's own, and a member called _ has no path.
//
// A trailing slash makes no difference. A segment may hold any character when
// it is percent-encoded, a slash among them.
//
// The engine reads the query of a URL and makes the answer; what it means in
// HTTP (tags, links, pages in headers, tables) is said here. A GET reads one
// snapshot. A write is one transaction, in which its preconditions are looked
// at too.
//
// A request passes, in this order: its id, the metrics, the access log,
// recovery from panics, the headers that every answer has, the Host check,
// cross-origin rules, credentials; then the resource. Each of these is one
// small file. Handlers return errors; errors.go alone turns them into statuses,
// and every error is a problem document (RFC 9457).
package server
