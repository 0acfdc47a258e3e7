// Package system tests the whole system: the built command with its clients, clusters,
// containers, editors, crashes and power cuts. The tests of the page, and others that
// need a browser, are in page.
package system
