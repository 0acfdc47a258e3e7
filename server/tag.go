package server

import (
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// Entity tags (RFC 9110 section 8.8.3) are strong: equal tags mean equal bytes. The tag of a record
// or object is a hash of the text. The tag of a list is a hash of the request and of the revision of
// the collection, so the server need not build a list to know that the list is unchanged.

// tagOf returns the tag of a response made from a top-level field or, if name is "", from the whole
// database. The tag depends on the request.
func (req *request) tagOf(snap *database.Snapshot, name, query, media string, body []byte) string {
	h := sha256.New()
	tag := snap.Tag(name)
	h.Write(tag[:])
	for _, part := range []string{req.name, req.id, req.child, query, media, string(body)} {
		h.Write([]byte(part))
		h.Write([]byte{0xff}) // not a byte of UTF-8
	}
	return httpx.QuoteTag([sha256.Size]byte(h.Sum(nil)))
}

// isConditional reports whether a request has preconditions. Other writes need no tag.
func (req *request) isConditional() bool {
	h := req.Request.Header
	return h["If-Match"] != nil || h["If-None-Match"] != nil
}

// checkRead checks the If-Match of a read.
func (req *request) checkRead(tag string) error {
	list := req.Request.Header["If-Match"]
	if list == nil || httpx.MatchTag(list, tag, false) != "" {
		return nil
	}
	return problem.PreconditionFailed(tag)
}

// checkPrecondition checks If-Match and If-None-Match of a write against the current tag, with and
// without the suffix of a form. The caller calls it in the transaction, so that no change comes in
// between.
func (req *request) checkPrecondition(tag string) error {
	matches := func(list []string, weak bool) bool {
		return httpx.MatchTag(list, tag, weak) != "" || httpx.MatchTag(list, req.Answers.Tag(tag), weak) != ""
	}
	if list := req.Request.Header.Values("If-Match"); len(list) > 0 && !matches(list, false) {
		return problem.PreconditionFailed(req.form.Tag(tag))
	}
	if list := req.Request.Header.Values("If-None-Match"); len(list) > 0 && matches(list, true) {
		return problem.New(http.StatusPreconditionFailed, "The resource exists and matches If-None-Match.")
	}
	return nil
}

// checkTarget checks the preconditions on the record or object of the path. The change itself reports
// or creates a missing record, for which If-Match never holds.
func (req *request) checkTarget(tx *database.Tx) error {
	if !req.isConditional() {
		return nil
	}
	v, err := tx.Snapshot().Target(req.name, req.id)
	if err == nil {
		return req.checkPrecondition(httpx.Tag(v))
	}
	if req.id != "" && req.isCreateOnly() && len(req.Request.Header.Values("If-Match")) > 0 {
		return problem.PreconditionFailed("")
	}
	return nil
}

// listTag returns the tag of a GET of a collection without a query, or of the
// database if name is "".
func (req *request) listTag(snap *database.Snapshot, name string) string {
	of := *req
	of.name = name
	of.id = ""
	of.child = ""
	return of.tagOf(snap, name, "", openapi.JSONType, nil)
}

// isCreateOnly reports whether a PUT may create a record but not replace one.
func (req *request) isCreateOnly() bool {
	return req.Request.Method == http.MethodPut && strings.TrimSpace(req.Request.Header.Get("If-None-Match")) == "*"
}

// setWrittenTag sets ETag to the tag of the record after a write. The response to a PUT has the tag
// only if the stored record equals the sent record (RFC 9110 section 9.3.4).
func (req *request) setWrittenTag(stored, sent jsontext.Value) {
	switch req.Request.Method {
	case http.MethodDelete:
		return
	case http.MethodPut:
		v := sent.Clone()
		if v.Compact() != nil || string(v) != string(stored) {
			return
		}
	}
	req.setTag(req.form.Tag(httpx.Tag(stored)))
}

// setTag sets ETag, in the spelling of RFC 9110.
func (req *request) setTag(tag string) { req.Writer.Header()["ETag"] = []string{tag} }
