// Package system tests the whole system: the built command with clients, clusters, containers,
// editors, crashes and power cuts. The files in testdata/script specify the command. Package
// page has the tests of the page and other tests in a browser.
package system
