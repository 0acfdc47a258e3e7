package server

import "net/url"

// The two resources that are answered without credentials.
const (
	livezPath  = "/_/livez"
	readyzPath = "/_/readyz"
)

// A Check is something that readyz?verbose names. It decides nothing: a service
// whose new certificate cannot be used goes on with the last one.
type Check struct {
	Name string
	OK   func() bool
}

// livez says that the process answers.
func (k *call) livez() error {
	k.Header("Cache-Control", "no-store")
	send(k.Context, 200, jsonType, []byte(`{"status":"alive"}`+"\n"))
	return nil
}

// readyz says that reads and writes are possible; 503 while the file is broken.
// With ?verbose it names what it has looked at. Nobody has shown credentials
// here, so it tells no more than that.
func (k *call) readyz() error {
	broken := k.db.Err()
	values, _ := url.ParseQuery(k.Request.URL.RawQuery)
	if _, verbose := values["verbose"]; !verbose {
		if broken != nil {
			return broken
		}
		k.Header("Cache-Control", "no-store")
		send(k.Context, 200, jsonType, []byte(`{"status":"ready"}`+"\n"))
		return nil
	}
	status, b := 200, []byte(`{"status":"ready"`)
	if broken != nil {
		status, b = 503, []byte(`{"status":"not ready"`)
		k.Header("Retry-After", retryAfter)
	}
	file := "ok"
	if broken != nil {
		p, cause := problemOf(broken)
		if file = p.detail; cause != nil {
			s := k.server
			s.Log.Warn("not ready", "id", requestIDOf(k.Context), "error", cause)
		}
	}
	b = appendString(append(b, `,"checks":[{"name":"file","status":`...), file)
	writes := "ok"
	if k.ReadOnly {
		writes = "refused: the server was started with --read-only"
	}
	b = appendString(append(b, `},{"name":"writes","status":`...), writes)
	for _, c := range k.Checks {
		state := "ok"
		if !c.OK() {
			state = "the latest cannot be used, the one before it is in force; the log says why"
		}
		b = appendString(append(b, `},{"name":`...), c.Name)
		b = appendString(append(b, `,"status":`...), state)
	}
	k.Header("Cache-Control", "no-store")
	send(k.Context, status, jsonType, append(b, "}]}\n"...))
	return nil
}
