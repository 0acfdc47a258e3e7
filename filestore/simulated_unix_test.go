//go:build unix

package filestore

// simulated are the rules of systems that are simulated on this one.
var simulated = []way{
	{name: "Windows", both: onWindows, pace: 5},
	{name: "in place, Windows", both: inPlaceOnWindows, pace: 9},
}
