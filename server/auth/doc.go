// Package auth checks the users and passwords of HTTP Basic authentication.
//
// Users holds the names and password hashes of an htpasswd file, or of a single user given by a
// flag. A Verifier checks credentials against Users. It remembers correct credentials, limits
// the number of concurrent hash computations, and slows down sources of repeated failures. Start
// at Verifier.Check.
//
// Two guarantees shape the code. Rejecting an unknown user takes as long as rejecting a wrong
// password, so names cannot be guessed. Neither the cache nor an error message contains a
// password.
package auth
