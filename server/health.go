package server

import "net/http"

// The two resources that are answered without credentials.
const (
	livezPath  = "/_/livez"
	readyzPath = "/_/readyz"
)

// A Finding is something in the database, or in its rules, that a person
// should look at: a record that breaks a rule since it was edited by hand, a
// second record of one id.
type Finding struct {
	File         string // its name without folders
	Line, Column int    // from 1; 0 where nobody has looked them up
	Pointer      string // RFC 6901, into the file; "" where it is no JSON
	Detail       string // one sentence
}

// maxFindings is how many findings one answer lists.
const maxFindings = 1000

// livez says that the process answers.
func (k *call) livez() error {
	k.Header("Cache-Control", "no-store")
	send(k.Context, http.StatusOK, jsonType, []byte(`{"status":"alive"}`+"\n"))
	return nil
}

// readyz says that reads and writes are possible; 503 while the file is broken.
// With the parameter verbose it also lists what Options.Findings finds, which
// is for those with credentials: see authenticate.
func (k *call) readyz() error {
	if err := k.db.Err(); err != nil {
		return err
	}
	b := []byte(`{"status":"ready"`)
	if verbose(k.Request) && k.Findings != nil {
		b = appendFindings(b, k.Findings())
	}
	k.Header("Cache-Control", "no-store")
	send(k.Context, http.StatusOK, jsonType, append(b, '}', '\n'))
	return nil
}

// verbose reports whether the query has the parameter verbose, be it with a
// value or without.
func verbose(r *http.Request) bool { return r.URL.Query().Has("verbose") }

// appendFindings appends two members: count, of all findings, and findings,
// the first of them.
func appendFindings(b []byte, all []Finding) []byte {
	b = appendInt(append(b, `,"count":`...), len(all))
	b = append(b, `,"findings":[`...)
	for i, f := range all[:min(len(all), maxFindings)] {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"file":`...), f.File)
		if f.Line > 0 {
			b = appendInt(append(b, `,"line":`...), f.Line)
			b = appendInt(append(b, `,"column":`...), f.Column)
		}
		if f.Pointer != "" {
			b = appendString(append(b, `,"pointer":`...), f.Pointer)
		}
		b = append(appendString(append(b, `,"detail":`...), f.Detail), '}')
	}
	return append(b, ']')
}
