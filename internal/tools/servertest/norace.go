//go:build !race

package servertest

// raceEnabled reports whether the race detector watches the tests.
const raceEnabled = false
