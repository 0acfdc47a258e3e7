package filestore

// simulated is empty: this is the system.
var simulated []way

// Windows exchanges no files, so the first way would be the second once more.
func init() { systems = systems[1:] }
