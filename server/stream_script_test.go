package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A scriptStream is a stream that a script has opened.
type scriptStream struct {
	request string // as it was sent
	lastID  string
	conn    net.Conn
	events  *eventReader
}

// openStream sends a request and leaves its connection open. Without data it
// sends the stream's request once more, with the last id as a browser does.
func (s *script) openStream(t *testing.T, name string, data []byte) *answer {
	old := s.streams[name]
	request := string(data)
	if old != nil {
		old.conn.Close()
		if strings.TrimSpace(request) == "" {
			request = strings.TrimSpace(old.request) + "\nLast-Event-ID: " + old.lastID + "\n"
		}
	}
	request = strings.ReplaceAll(request, "<last>", last(old))
	lines := strings.Split(strings.TrimSpace(request), "\n")
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", lines[0], strings.Join(append(lines[1:], "Accept: text/event-stream"), "\r\n"))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(data) > 0 || old == nil {
		s.streams[name] = &scriptStream{request: request}
	}
	stream := s.streams[name]
	stream.conn, stream.events = conn, newEventReader(response.Body)
	return &answer{strconv.Itoa(response.StatusCode), response.Header, stream.body(response)}
}

// body returns the body of an answer that is no stream.
func (s *scriptStream) body(r *http.Response) string {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		return ""
	}
	defer s.conn.Close()
	var b strings.Builder
	if _, err := bufio.NewReader(r.Body).WriteTo(&b); err != nil {
		return err.Error()
	}
	return b.String()
}

func last(s *scriptStream) string {
	if s == nil {
		return ""
	}
	return s.lastID
}

// next returns the next event. Lines that only say the place are skipped.
func (s *scriptStream) next(t *testing.T) streamEvent {
	if s == nil {
		t.Fatal("the stream is not open")
	}
	for {
		e, err := s.events.next()
		if err != nil {
			t.Fatalf("%s: %v", s.request, err)
		}
		if e.id != "" {
			s.lastID = e.id
		}
		if e.name != "" {
			return e
		}
	}
}

// end fails if the stream does not end.
func (s *scriptStream) end(t *testing.T) {
	if e, err := s.events.next(); err == nil {
		t.Errorf("%s: the stream goes on with %s", s.request, e)
	}
	s.conn.Close()
}

// A streamEvent is what is between two empty lines of a stream.
type streamEvent struct{ name, id, data string }

func (e streamEvent) String() string {
	s := e.name
	if e.id != "" {
		s += " " + e.id
	}
	return s + "\n" + e.data
}

// matches compares an event with a section of a script: its name, with <id> if
// it has an id, and its data.
func (e streamEvent) matches(want string) bool {
	head, data, _ := strings.Cut(want, "\n")
	if e.id != "" {
		e.name += " <id>"
	}
	return e.name == head && matches(e.data, data)
}

// An eventReader parses server-sent events (HTML Standard section 9.2.6).
type eventReader struct{ lines *bufio.Reader }

func newEventReader(r interface{ Read([]byte) (int, error) }) *eventReader {
	return &eventReader{bufio.NewReader(r)}
}

func (r *eventReader) next() (e streamEvent, err error) {
	for empty := true; ; {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "":
			if !empty {
				return e, nil
			}
			continue
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "retry":
			continue
		default:
			return e, fmt.Errorf("a line %q", line)
		}
		empty = false
	}
}
