package server

import (
	"iter"
	"net/url"

	"pickup"
)

// list answers GET /schedules.
func (k *call) list() error {
	q, err := k.snap.ParseQuery(k.name, k.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	records, err := k.snap.Find(k.name, q)
	if err != nil {
		return err
	}
	return k.show(func(b []byte) []byte { return appendRecords(b, records) })
}

// read answers GET /schedules/4. It takes the parameters of a list; those that
// choose records have nothing to choose from.
func (k *call) read() error {
	if _, err := k.snap.ParseQuery(k.name, k.Request.URL.RawQuery); err != nil {
		return err
	}
	r, err := k.snap.Get(k.name, k.id)
	if err != nil {
		return noRecord(k.snap, k.name, k.id)
	}
	return k.show(func(b []byte) []byte { return append(b, r.Value...) })
}

// readObject answers GET on a singular resource.
func (k *call) readObject() error {
	v, err := k.snap.Value(k.name)
	if err != nil {
		return err
	}
	return k.show(func(b []byte) []byte { return append(b, v...) })
}

// listChildren answers GET /drivers/2/schedules: those whose driverId is the
// parent's id, as text.
func (k *call) listChildren() error {
	if _, err := k.snap.Get(k.name, k.id); err != nil {
		return noRecord(k.snap, k.name, k.id)
	}
	key := pickup.Singular(k.name) + "Id"
	byParent, err := k.snap.ParseQuery(k.child, url.QueryEscape(key)+"="+url.QueryEscape(k.id))
	if err != nil {
		return err
	}
	asked, err := k.snap.ParseQuery(k.child, k.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	records, err := k.snap.Find(k.child, byParent)
	if err != nil {
		return err
	}
	children := func(yield func(*pickup.Record) bool) {
		for r := range records {
			// A query compares numbers by value, so that 1.0 finds 1; an id is
			// the same only where it is spelled the same.
			if id, _ := pickup.ID(r.Value, key); id == k.id && asked.Match(r) && !yield(r) {
				return
			}
		}
	}
	return k.show(func(b []byte) []byte { return appendRecords(b, children) })
}

// appendRecords appends a JSON array of records.
func appendRecords(b []byte, records iter.Seq[*pickup.Record]) []byte {
	b = append(b, '[')
	n := len(b)
	for r := range records {
		if len(b) > n {
			b = append(b, ',')
		}
		b = append(b, r.Value...)
	}
	return append(b, ']')
}
