// Package auth checks the users and passwords of HTTP Basic authentication.
//
// Users holds the names and password hashes of an htpasswd file, or of one
// user given by a flag. A Verifier checks credentials against Users; it
// remembers those that were right, limits how many hashes are computed at once,
// and slows down sources that keep failing. Start at Verifier.Check.
//
// Two guarantees shape the code. An unknown user takes as long to reject as a
// wrong password, so that names cannot be guessed. No password is kept: neither
// the cache nor an error message holds one.
package auth
