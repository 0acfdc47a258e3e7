package filestore

// simulated is empty: this is the system.
var simulated []way
