// Package live sends the changes of a database as server-sent events (HTML Standard
// section 9.2): events.go has all kinds of events and encodes them, hub.go does that once
// for all streams that ask for the same, and writer.go sends them to one client.
package live
