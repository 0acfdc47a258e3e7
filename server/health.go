package server

import (
	"errors"
	"io/fs"
	"net/http"

	"pickup/internal/rawjson"
	"pickup/internal/storage"

	"pickup/server/openapi"
)

// A Check is something that readyz?verbose names. It decides nothing: a service
// whose new certificate cannot be used goes on with the last one.
type Check struct {
	Name string
	OK   func() bool
}

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
func (req *request) livez() error {
	req.Header("Cache-Control", "no-store")
	send(req.Context, http.StatusOK, openapi.JsonType, []byte(`{"status":"alive"}`+"\n"))
	return nil
}

// readyz says that reads and writes are possible; 503 while the file is broken.
// With the parameter verbose it names what it has looked at and lists what
// Options.Findings finds, which is for those with credentials: see
// authenticate.
func (req *request) readyz() error {
	broken := req.db.Err()
	if !verbose(req.Request) {
		if broken != nil {
			return req.withoutReason(broken)
		}
		req.Header("Cache-Control", "no-store")
		send(req.Context, http.StatusOK, openapi.JsonType, []byte(`{"status":"ready"}`+"\n"))
		return nil
	}
	status, b, file := http.StatusOK, []byte(`{"status":"ready"`), "ok"
	if broken != nil {
		status, b = http.StatusServiceUnavailable, []byte(`{"status":"not ready"`)
		req.Header("Retry-After", retryAfter)
		p, cause := problemOf(broken)
		if file = p.detail; cause != nil {
			req.server.Log.Warn("not ready", "id", requestIDOf(req.Context), "error", cause)
		}
	}
	b = req.appendChecks(b, file, broken)
	if req.Findings != nil {
		b = appendFindings(b, req.Findings())
	}
	req.Header("Cache-Control", "no-store")
	send(req.Context, status, openapi.JsonType, append(b, "}\n"...))
	return nil
}

// withoutReason returns an error as it is told to whoever asks: where the file does
// not parse, but not why, for a reason may quote what stands there.
func (req *request) withoutReason(err error) error {
	var broken *storage.BrokenError
	if req.Auth == nil || !errors.As(err, &broken) {
		return err
	}
	place := *broken
	place.Reason = "the log says why, and so does readyz?verbose to those with credentials"
	return &place
}

// verbose reports whether the query has the parameter verbose, be it with a
// value or without.
func verbose(r *http.Request) bool { return r.URL.Query().Has("verbose") }

// appendChecks appends the member checks: the file, whether it is written, and
// Options.Checks. broken is why the file cannot be read, nil where it can: all
// but one that is not there, which is made again, has to be put right first.
func (req *request) appendChecks(b []byte, file string, broken error) []byte {
	b = rawjson.AppendQuote(append(b, `,"checks":[{"name":"file","status":`...), file)
	writes := "ok"
	switch {
	case req.ReadOnly:
		writes = "refused: the server was started with --read-only"
	case broken != nil && !errors.Is(broken, fs.ErrNotExist):
		writes = "refused until the file is in order"
	}
	b = rawjson.AppendQuote(append(b, `},{"name":"writes","status":`...), writes)
	for _, c := range req.Checks {
		state := "ok"
		if !c.OK() {
			state = "the latest cannot be used, the one before it is in force; the log says why"
		}
		b = rawjson.AppendQuote(append(b, `},{"name":`...), c.Name)
		b = rawjson.AppendQuote(append(b, `,"status":`...), state)
	}
	return append(b, "}]"...)
}

// appendFindings appends two members: count, of all findings, and findings,
// the first of them.
func appendFindings(b []byte, all []Finding) []byte {
	b = openapi.AppendInt(append(b, `,"count":`...), len(all))
	b = append(b, `,"findings":[`...)
	for i, f := range all[:min(len(all), maxFindings)] {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendQuote(append(b, `{"file":`...), f.File)
		if f.Line > 0 {
			b = openapi.AppendInt(append(b, `,"line":`...), f.Line)
			b = openapi.AppendInt(append(b, `,"column":`...), f.Column)
		}
		if f.Pointer != "" {
			b = rawjson.AppendQuote(append(b, `,"pointer":`...), f.Pointer)
		}
		b = append(rawjson.AppendQuote(append(b, `,"detail":`...), f.Detail), '}')
	}
	return append(b, ']')
}
