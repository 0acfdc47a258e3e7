package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TestRequestsRedacted: what may be secret is hidden soon after a request, also if
// nobody reads it, and the size is that of what is kept.
func TestRequestsRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l requestLog
		add := func(n int) {
			for range n {
				l.add(&recorded{Query: "token=hunter2", body: excerpt{text: []byte(`{"password": "hunter2"}`)}})
			}
		}
		check := func(count int) {
			t.Helper()
			l.mu.Lock()
			defer l.mu.Unlock()
			size := 0
			for _, e := range l.list {
				if kept := fmt.Sprint(e.Query, string(e.body.text)); kept != `token=…{"password":"…"}` {
					t.Fatalf("kept is %s", kept)
				}
				size += e.size
			}
			if len(l.list) != count || l.size != size {
				t.Errorf("%d requests of %d bytes, not of %d", len(l.list), size, l.size)
			}
		}
		add(1)
		time.Sleep(redactAfter + 1)
		check(1)
		add(2 * maxRecorded)
		time.Sleep(redactAfter + 1)
		check(maxRecorded)
		add(1)
		l.clear()
		time.Sleep(redactAfter + 1)
		check(0)
	})
}

// FuzzRedact redacts arbitrary requests twice. What is kept of the body is JSON, no
// member whose name is that of a secret has a value, nor has such a parameter, and the
// second time changes nothing.
func FuzzRedact(f *testing.F) {
	f.Add("token=a&b=1", "application/json", `{"a":{"password":"b"}}`, false, "/a/token", `{"key":1}`)
	f.Add("_where=%7B%22key%22%3A1%7D", "application/json-patch+json", `[{"op":"add","path":"/key","value":1}]`, true, "", "")
	f.Add("%zz=%zz&c=key:1", "", "{\"\\u0061\":1,", true, "~", "\xff")
	f.Fuzz(func(t *testing.T, query, mediaType, body string, cut bool, pointer, detail string) {
		e := &recorded{
			Query: query, Type: mediaType, body: excerpt{text: []byte(body), cut: cut}, answer: excerpt{text: []byte(body), cut: cut},
			Problem: &problem{Detail: detail, Line: len(pointer), Errors: []fault{{Pointer: &pointer, Detail: detail}, {Parameter: &pointer}, {Detail: detail}}},
		}
		e.redact()
		e.measure()
		for _, text := range [][]byte{e.body.text, e.answer.text} {
			checkHidden(t, text, cut)
		}
		for part := range strings.SplitSeq(e.Query, "&") {
			name, value, _ := strings.Cut(part, "=")
			if plain, err := url.QueryUnescape(name); err == nil && isSecret(plain) && plain != "_code" && value != "" && value != hidden {
				t.Errorf("kept is %s", part)
			}
		}
		once := fmt.Sprint(e.Query, string(e.body.text), string(e.answer.text), e.Problem)
		if e.redact(); fmt.Sprint(e.Query, string(e.body.text), string(e.answer.text), e.Problem) != once {
			t.Errorf("%q, and the second time %q %s %s", once, e.Query, e.body.text, e.answer.text)
		}
	})
}

// checkHidden checks that a text is JSON, or the beginning of it if it is cut, whose
// members with the name of a secret have no value.
func checkHidden(t *testing.T, text []byte, cut bool) {
	t.Helper()
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if err == io.EOF || cut && errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		container, n := dec.StackIndex(dec.StackDepth())
		if container != '{' || n%2 == 0 || token.Kind() != '"' || !isSecret(token.String()) {
			continue
		}
		if value, err := dec.ReadValue(); string(value) != `"`+hidden+`"` && !(cut && err != nil && len(value) == 0) {
			t.Fatalf("%s has the value %s (%v)", token, value, err)
		}
	}
}

// TestContain: a panic is logged with its stack.
func TestContain(t *testing.T) {
	var b strings.Builder
	contain(slog.New(slog.NewTextHandler(&b, nil)), "not done", func() { panic("oops") })
	for _, want := range []string{"level=ERROR", `msg="not done"`, "panic: oops", "requestlog_internal_test.go"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the log lacks %s: %s", want, &b)
		}
	}
}
