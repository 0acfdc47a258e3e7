// Package httpx has what HTTP needs besides net/http: Accept headers, gzip, entity tags,
// request ids, trace ids, and text for messages. It knows nothing of the database.
package httpx
