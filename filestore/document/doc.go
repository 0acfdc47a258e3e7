// Package document edits the text of a db.json: JSON with comments, whose every
// byte stays where no change concerns it. It knows nothing of files.
package document
