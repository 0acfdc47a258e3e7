package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/txtar"

	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/rewrite"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
	"pickup/server"
	"pickup/server/simulate"
)

var update = flag.Bool("update", false, "write the answers that differ into testdata/*.txtar")

// TestScripts runs the conversations of testdata; its README.md has the format.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runScript(t, file)
		})
	}
}

func runScript(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(t, archive)
	var answer *answer
	for i, section := range archive.Files {
		name, arg, _ := strings.Cut(section.Name, ": ")
		data := section.Data
		switch {
		case i < s.first:
		case name == "store":
			s.fail(t, arg)
		case name == "edit":
			s.edit(t, arg, data)
		case section.Name == "restart":
			s.start(t)
		case name == "open":
			before := s.contract(t)
			answer = s.openStream(t, arg, data)
			if err := conform(s.routed([]byte(s.streams[arg].request)), answer, before, func() *contract { return s.contract(t) }); err != nil {
				t.Errorf("%s: %s: against the OpenAPI document: %v", file, section.Name, err)
			}
		case name == "event":
			got := s.streams[arg].next(t)
			if !got.matches(string(data)) {
				t.Errorf("%s: the next event of the stream %s is\n%s\nand not\n%s", file, arg, got, data)
				archive.Files[i].Data = []byte(got.String() + "\n")
			}
		case name == "end":
			s.streams[arg].end(t)
		case name == "begin":
			s.begun[arg] = s.begin(t, arg, data)
		case name == "finish":
			answer = s.begun[arg].finish(t)
		case section.Name == "db.json afterwards":
			got := string(s.db.Snapshot().AppendJSON(nil))
			if !matches(got, string(data)) {
				t.Errorf("%s: the database is\n%s\nand not\n%s", file, got, data)
				archive.Files[i].Data = []byte(layOut(got + "\n"))
			}
		case answer != nil && isStatus(section.Name):
			if diff := answer.diff(section.Name, data); diff != "" {
				t.Errorf("%s: %s: %s\nthe answer was\n%s", file, archive.Files[i-1].Name, diff, answer.format(data))
				archive.Files[i] = txtar.File{Name: answer.status, Data: answer.format(data)}
			}
			answer = nil
		case answer == nil && !isStatus(section.Name):
			before := s.contract(t)
			data = bytes.ReplaceAll(data, []byte("<revision>"), []byte(s.revision))
			answer = s.send(t, section.Name, data)
			s.revision = answer.header.Get("Pickup-Revision")
			if err := conform(s.routed(data), answer, before, func() *contract { return s.contract(t) }); err != nil {
				t.Errorf("%s: %s: against the OpenAPI document: %v", file, section.Name, err)
			}
		default:
			t.Fatalf("%s: section %q: requests and answers take turns", file, section.Name)
		}
	}
	if answer != nil {
		t.Fatalf("%s: the last request has no answer", file)
	}
	if *update && t.Failed() {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A script is a conversation and the server that its first sections configure.
type script struct {
	first int // the index of the section after these
	store *storetest.MemStore
	db    *database.DB
	addr  string
	web   http.Handler
	user  string // and password, where they are asked for

	findings bool // are listed

	database  database.Options
	options   server.Options
	stop      chan struct{}
	revision  string // of the latest answer
	streams   map[string]*scriptStream
	contracts map[string]*contract // of the current state, by path
	begun     map[string]*exchange
}

func newScript(t *testing.T, archive *txtar.Archive) *script {
	s := &script{options: server.Options{Version: "test"}, streams: make(map[string]*scriptStream), begun: make(map[string]*exchange)}
	var contents, rules []byte
header:
	for _, section := range archive.Files {
		switch section.Name {
		case "db.json":
			contents = section.Data
		case "db.schema.json":
			rules = section.Data
		case "options":
			for line := range strings.Lines(string(section.Data)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
				switch name {
				case "findings":
					s.findings = true
				case "seed":
					seed, err := strconv.ParseUint(value, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					s.database.Seed = &seed
				case "now":
					var err error
					if s.database.Start, err = time.Parse(time.RFC3339, value); err != nil {
						t.Fatal(err)
					}
				case "user":
					s.user = value
					fallthrough
				default:
					setOption(t, &s.options, name, value)
				}
			}
		default:
			break header
		}
		s.first++
	}
	if rules == nil && bytes.Contains(contents, []byte(`"./db.schema.json"`)) {
		rules = readFile(t, "../db.schema.json")
	}
	if rules != nil {
		var err error
		if s.database.Schema, err = schema.Compile("db.schema.json", rules); err != nil {
			t.Fatal(err)
		}
	}
	if !jsontext.Value(contents).IsValid() {
		t.Fatal("db.json is no JSON")
	}
	s.store = storetest.NewMemStore(contents)
	s.start(t)
	return s
}

// start starts the server, or restarts it, which ends its streams.
func (s *script) start(t *testing.T) {
	if s.stop != nil {
		close(s.stop)
	}
	var err error
	if s.db, err = database.Open(t.Context(), s.store, s.database); err != nil {
		t.Fatal(err)
	}
	go s.db.Follow(t.Context())
	if s.findings {
		s.options.Findings = lint.New("db.json", nil, s.db)
	}
	stop := make(chan struct{})
	s.stop, s.options.Stop = stop, stop
	s.web = server.Handler(s.db, s.options)
	web := httptest.NewServer(s.web)
	t.Cleanup(web.Close) // waits for the streams, which have ended by then
	s.addr = web.Listener.Addr().String()
}

func setOption(t *testing.T, o *server.Options, name, value string) {
	switch name {
	case "user":
		user, password, _ := strings.Cut(value, ":")
		o.Auth, o.User = single(user, password), user
	case "loopback":
		o.Loopback = true
	case "allow-host":
		o.AllowedHosts = append(o.AllowedHosts, value)
	case "cors-origin":
		o.CORSOrigins = append(o.CORSOrigins, value)
	case "prefix":
		o.Prefix = value
	case "answers":
		if err := json.Unmarshal([]byte(value), &o.Answers); err != nil {
			t.Fatal(err)
		}
	case "routes":
		lines, fault := rewrite.Parse([]byte(value))
		table, faults := rewrite.New(lines)
		if fault != nil || faults != nil {
			t.Fatal(fault, faults)
		}
		o.Routes = func() *rewrite.Table { return table }
	case "requests":
		o.Requests = true
	case "read-only":
		o.ReadOnly = true
	case "unwritable":
		causes := map[string]error{"EROFS": syscall.EROFS, "EACCES": syscall.EACCES, "full": storage.ErrFull, "in-use": storage.ErrInUse}
		err := fmt.Errorf("%w: open /home/somebody/db.json: %w", storage.ErrReadOnly, causes[value])
		if value == "EACCES" {
			err = &storage.AdviceError{Err: err, Advice: "run it with docker run --user 1000:1000"}
		}
		o.Writable = func() error { return err }
	case "file":
		o.Source = func() server.SourceFile { return server.SourceFile{Name: value, Size: 7} }
	case "address":
		o.Addresses = func() []string { return []string{value} }
	case "max-body", "max-streams", "max-sessions":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case name == "max-body":
			o.MaxBody = n
		case name == "max-streams":
			o.MaxStreams = int(n)
		case n == 0:
			o.MaxSessions = -1
		default:
			o.MaxSessions = int(n)
		}
	case "simulate":
		o.Simulate = &server.Simulation{Stubs: new(simulate.Stubs), Dice: simulate.Seeded(1)}
	case "delay":
		var err error
		if o.Simulate.Delay, err = simulate.ParseRange(value); err != nil {
			t.Fatal(err)
		}
	case "max-delay":
		var err error
		if o.Simulate.MaxDelay, err = time.ParseDuration(value); err != nil {
			t.Fatal(err)
		}
	case "rules":
		rules, faults := simulate.Parse(jsontext.Value(value), time.Minute, false)
		if faults != nil {
			t.Fatal(faults)
		}
		o.Simulate.Stubs.Set(rules)
	default:
		t.Fatalf("there is no option %q", name)
	}
}

// An exchange is a request that was sent, and whose answer is not read yet.
type exchange struct {
	name, method string
	conn         net.Conn
}

// send sends a request and returns its answer.
func (s *script) send(t *testing.T, name string, data []byte) *answer {
	return s.begin(t, name, data).finish(t)
}

// begin sends a request unchanged, over a connection of its own.
func (s *script) begin(t *testing.T, name string, data []byte) *exchange {
	head, body, _ := strings.Cut(string(data), "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	body = strings.TrimSuffix(body, "\n")
	headers := strings.Join(lines[1:], "\r\n")
	if headers != "" {
		headers += "\r\n"
	}
	if !hasHeader(lines, "Host") {
		headers += "Host: localhost\r\n"
	}
	switch {
	case hasHeader(lines, "Transfer-Encoding"):
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case body != "" && !hasHeader(lines, "Content-Length"):
		headers += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(lines[0], " ")
	if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\n%sConnection: close\r\n\r\n%s", lines[0], headers, body); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &exchange{name, method, conn}
}

// finish reads the answer. Its status says if the connection was reset or
// closed instead.
func (e *exchange) finish(t *testing.T) *answer {
	defer e.conn.Close()
	response, err := http.ReadResponse(bufio.NewReader(e.conn), &http.Request{Method: e.method})
	const ofWindows = syscall.Errno(10054)
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, ofWindows):
		return &answer{status: "connection reset"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &answer{status: "connection closed"}
	case err != nil:
		t.Fatalf("%s: %v", e.name, err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	return &answer{strconv.Itoa(response.StatusCode), response.Header, string(text)}
}

// routed returns a request with the target to which the routes lead it.
func (s *script) routed(request []byte) []byte {
	line, rest, _ := strings.Cut(string(request), "\n")
	parts := strings.Split(line, " ")
	if s.options.Routes == nil || len(parts) < 2 {
		return request
	}
	path, query, _ := strings.Cut(parts[1], "?")
	session := regexp.MustCompile(`^/_/s/[^/]+`).FindString(path)
	if path = strings.TrimPrefix(path, session); !rewrite.IsService(path) {
		path, query, _ = s.options.Routes().Rewrite(path, query)
	}
	parts[1] = session + path + "?" + query
	return []byte(strings.Join(parts, " ") + "\n" + rest)
}

func hasHeader(lines []string, name string) bool {
	for _, l := range lines[1:] {
		if n, _, _ := strings.Cut(l, ":"); strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// edit changes a top-level member in the store, as a hand edit does. Without data
// the member is removed.
func (s *script) edit(t *testing.T, name string, data []byte) {
	b, err := s.store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var value jsontext.Value
	if len(bytes.TrimSpace(data)) > 0 {
		value = data
	}
	rev, err := s.store.Commit(t.Context(), b.Rev, []storage.Change{{Collection: name, Value: value}})
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); s.db.Snapshot().Rev() < rev; time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatal("the edit does not arrive")
		}
	}
}

// fail makes the store fail in one of several ways, and waits until the database
// knows.
func (s *script) fail(t *testing.T, how string) {
	errs := map[string]error{
		"good":   nil,
		"broken": &storage.BrokenError{File: "/home/somebody/family/db.json", Line: 4, Column: 17, Reason: "there is a comma missing"},
		"full":   fmt.Errorf("write /home/somebody/db.json: %w", storage.ErrFull),
		"locked": fmt.Errorf("open /home/somebody/db.json: %w", storage.ErrReadOnly),
		"foreign": fmt.Errorf("commit: %w", &storage.AdviceError{
			Err: fmt.Errorf("%w: open /home/somebody/db.json", storage.ErrReadOnly), Advice: "run it with docker run --user 1000:1000"}),
		"busy": fmt.Errorf("db.json is empty: %w", storage.ErrBusy),
		"emptied": &storage.AdviceError{
			Err: fmt.Errorf("%w: /home/somebody/db.json", storage.ErrBusy), Advice: "db.json is empty; put its text back"},
		"unsure": fmt.Errorf("sync /home/somebody: %w", storage.ErrUnsure),
		"huge":   fmt.Errorf("db.json: %w", storage.ErrTooLarge),
		"odd":    fmt.Errorf("a fault of /home/somebody"),
	}
	err, ok := errs[how]
	if !ok {
		t.Fatalf("a store cannot be %q", how)
	}
	s.store.Break(err)
	for start := time.Now(); !errors.Is(s.db.Err(), err); time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatal("the database did not notice that the store is broken, or works again")
		}
	}
}

// An answer is the response to a request.
type answer struct {
	status string
	header http.Header
	body   string
}

// diff describes how the answer differs from a section of the script.
func (a *answer) diff(status string, data []byte) string {
	if a.status != status {
		return "the status is " + a.status + " and not " + status
	}
	head, body := splitAnswer(data)
	for line := range strings.Lines(head) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), ":")
		if got := strings.Join(a.header.Values(name), ", "); !matches(got, strings.TrimSpace(want)) {
			return fmt.Sprintf("the header is %s: %s", name, got)
		}
	}
	if !matches(a.body, body) {
		return "the body differs"
	}
	if strings.Contains(a.header.Get("Content-Type"), "json") && a.body != "" && !jsontext.Value(a.body).IsValid() {
		return "the body is no JSON"
	}
	return ""
}

// format returns the answer with those headers that data has.
func (a *answer) format(data []byte) []byte {
	var out strings.Builder
	head, _ := splitAnswer(data)
	for line := range strings.Lines(head) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), ":")
		got := strings.Join(a.header.Values(name), ", ")
		if matches(got, strings.TrimSpace(want)) {
			got = strings.TrimSpace(want) // with its <any>
		}
		fmt.Fprintf(&out, "%s\n", strings.TrimSpace(name+": "+got))
	}
	fmt.Fprintf(&out, "\n%s", layOut(a.body))
	return []byte(out.String())
}

// layOut puts the members of a long object, and the elements of the arrays in
// it or of a long array, on lines of their own.
func layOut(body string) string {
	if v := jsontext.Value(body); len(body) < 100 || v.Compact() != nil {
		return body
	}
	var out strings.Builder
	var stack string
	inString := false
	for i, c := range body {
		lines := len(stack) == 1 || stack == "{["
		if (c == ']' || c == '}') && !inString {
			if lines {
				out.WriteString("\n" + strings.Repeat("  ", len(stack)-1))
			}
			stack = stack[:len(stack)-1]
		}
		out.WriteRune(c)
		if c == '"' && (i == 0 || body[i-1] != '\\') {
			inString = !inString
		}
		if inString {
			continue
		}
		if c == '[' || c == '{' {
			if c == '[' && stack != "" && body[i+1] != '{' {
				stack += "(" // of scalars
			} else {
				stack += string(c)
			}
			lines = len(stack) == 1 || stack == "{["
		}
		switch {
		case c == ':', c == ',' && !lines:
			out.WriteString(" ")
		case strings.ContainsRune(",[{", c) && lines:
			out.WriteString("\n" + strings.Repeat("  ", len(stack)))
		}
	}
	return out.String()
}

// splitAnswer separates the headers of an answer from its body.
func splitAnswer(data []byte) (head, body string) {
	if bytes.HasPrefix(data, []byte("\n")) {
		return "", string(data[1:])
	}
	head, body, _ = strings.Cut(string(data), "\n\n")
	return head, body
}

func isStatus(name string) bool {
	n, err := strconv.Atoi(name)
	return err == nil && 100 <= n && n <= 599 || name == "connection reset" || name == "connection closed"
}

// matches compares JSON token by token and other text literally. <any> in want
// matches any text within a string.
func matches(got, want string) bool {
	got, want = tidy(got), tidy(want)
	if !strings.Contains(want, "<any>") {
		return got == want
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "<any>", `(?:[^"\\]|\\.)*`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

func tidy(s string) string {
	if v := jsontext.Value(s); v.Compact() == nil {
		return string(v)
	}
	return strings.TrimSpace(s)
}

func readFile(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
