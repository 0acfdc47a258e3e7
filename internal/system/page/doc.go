// Package page tests in a browser: the page at /_/, examples and public pages.
package page
