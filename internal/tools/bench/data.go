//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
)

// fleet returns a database of n schedules of about 270 bytes and a tenth as many
// drivers, indented by two spaces as json-server does.
func fleet(n int) string {
	var s strings.Builder
	s.WriteString("{\n  \"schedules\": [\n")
	for i := 1; i <= n; i++ {
		comma(&s, i == 1)
		fmt.Fprintf(&s, `    {
      "id": "%d",
      "driverId": "%d",
      "title": "School run",
      "passenger": "Emma and Max",
      "pickupLocation": "12 Oak Street, by the gate",
      "dropoffLocation": "Lincoln School",
      "pickupTime": "2026-03-02T07:30:00Z",
      "dropoffTime": "2026-03-02T07:50:00Z",
      "status": "Scheduled",
      "note": "%010d"
    }`, i, i%(n/10)+1, i)
	}
	s.WriteString("\n  ],\n  \"drivers\": [\n")
	for i := 1; i <= n/10; i++ {
		comma(&s, i == 1)
		fmt.Fprintf(&s, `    { "id": "%d", "driverName": "Ruth %d", "cellPhone": "(555) 123-4567", "email": "ruth%d@example.com" }`, i, i, i)
	}
	s.WriteString("\n  ]\n}\n")
	return s.String()
}

// many returns a database of n records of about 100 bytes, one per line. Every
// fiftieth has the same driver, every third is canceled, one in a thousand contains a word to search for, and
// every second one a word of its own: the nth of them has ownWord(n). The id of a
// driver is not a number, because json-server 1 would not find a number that is stored
// as a string.
func many(n int) string {
	var s strings.Builder
	s.WriteString("{\n  \"schedules\": [\n")
	for i := 1; i <= n; i++ {
		comma(&s, i == 1)
		title := "School run"
		switch {
		case i%1000 == 500:
			title = "Dentist's chair"
		case i%2 == 1:
			title = "Visit " + ownWord(i/2)
		}
		fmt.Fprintf(&s, `    {"id":"%d","driverId":"d%d","title":"%s","rank":%d,"status":"%s"}`, i, i%50, title, i*7919%n, []string{"Canceled", "Scheduled", "Done"}[i%3])
	}
	s.WriteString("\n  ]\n}\n")
	return s.String()
}

// ownWord returns a word of five letters, another one for each n below 456,976.
func ownWord(n int) string {
	return string([]byte{'x', byte('a' + n/17_576%26), byte('a' + n/676%26), byte('a' + n/26%26), byte('a' + n%26)})
}

// sized returns a database of about the given size, one record per line, and
// the number of its records.
func sized(bytes int) (text string, records int) {
	var s strings.Builder
	s.WriteString("{\n  \"schedules\": [\n")
	for s.Len() < bytes-20 || records == 0 {
		records++
		comma(&s, records == 1)
		fmt.Fprintf(&s, `    {"id":"%d","driverId":"%d","title":"School run","passenger":"Emma and Max","pickupLocation":"12 Oak Street, by the gate","dropoffLocation":"Lincoln School","pickupTime":"2026-03-02T07:30:00Z","dropoffTime":"2026-03-02T07:50:00Z","status":"Scheduled","note":"%010d"}`, records, records%100, records)
	}
	s.WriteString("\n  ]\n}\n")
	return s.String(), records
}

func comma(s *strings.Builder, first bool) {
	if !first {
		s.WriteString(",\n")
	}
}

// save replaces a file by renaming a new one, as many editors do.
func save(file, text string) error {
	if err := os.WriteFile(file+"~", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(file+"~", file)
}
