// Package auth checks users and passwords, and slows down who guesses.
package auth
