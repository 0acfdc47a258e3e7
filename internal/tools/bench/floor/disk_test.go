//go:build linux

package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestDisk appends and removes records, first one by one, then concurrently. In
// the end the file is the same as in the beginning.
func TestDisk(t *testing.T) {
	const text = "{\n  \"schedules\": [\n    {\"id\":\"1\"},\n    {\"id\":\"2\"}\n  ]\n}\n"
	path := filepath.Join(t.TempDir(), "db.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	d := &disk{path: path, text: []byte(text)}
	for _, test := range []struct {
		record string
		remove bool
		want   string
	}{
		{want: text},
		{record: `{"id":"3"}`, want: "{\n  \"schedules\": [\n    {\"id\":\"1\"},\n    {\"id\":\"2\"}\n  ,\n    {\"id\":\"3\"}]\n}\n"},
		{remove: true, want: text},
	} {
		var record []byte
		if test.record != "" {
			record = []byte(test.record)
		}
		if err := d.commit(record, test.remove); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != test.want || err != nil {
			t.Fatalf("%s\nwant %s, %v", got, test.want, err)
		}
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 20 {
				if err := d.commit([]byte(`{"id":"4"}`), false); err != nil {
					t.Error(err)
				}
				if err := d.commit(nil, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got, err := os.ReadFile(path); string(got) != text || err != nil {
		t.Fatalf("%s\nwant %s, %v", got, text, err)
	}
}
