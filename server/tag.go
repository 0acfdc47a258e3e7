package server

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"

	"pickup/server/openapi"
)

// Entity tags (RFC 9110 section 8.8.3) are strong: equal tags are equal bytes.
// That of one record or object is a hash of what is stored, which is what it
// answers; that of a list says which change of its collection was the last, so
// that nobody builds a list to learn that it is as it was.

// tagOf returns the tag of an answer that consists of the bytes.
func tagOf(answer []byte) string {
	sum := sha256.Sum256(answer)
	return quoteTag(sum)
}

// tagOf returns the tag of an answer that is made of a top-level member, or of
// the whole database where name is "". What was asked is part of it.
func (req *request) tagOf(snap *database.Snapshot, name, query, media string, body []byte) string {
	h := sha256.New()
	tag := snap.Tag(name)
	h.Write(tag[:])
	for _, part := range []string{req.name, req.id, req.child, query, media, string(body)} {
		h.Write([]byte(part))
		h.Write([]byte{0xff}) // which UTF-8 does not have
	}
	return quoteTag([sha256.Size]byte(h.Sum(nil)))
}

func quoteTag(sum [sha256.Size]byte) string {
	var tag [22]byte
	tag[0], tag[21] = '"', '"'
	base64.RawURLEncoding.Encode(tag[1:21], sum[:15])
	return string(tag[:])
}

// matches reports whether a list of entity tags, the value of If-Match or
// If-None-Match, has the tag, or is *. With weak a tag that is marked as weak
// counts too.
func matches(list []string, tag string, weak bool) bool {
	for _, value := range list {
		if strings.TrimSpace(value) == "*" {
			return true
		}
		for value != "" {
			value = strings.TrimLeft(value, " \t,")
			rest, isWeak := strings.CutPrefix(value, "W/")
			if !strings.HasPrefix(rest, `"`) {
				break
			}
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				break
			}
			if rest[:end+2] == tag && (weak || !isWeak) {
				return true
			}
			value = rest[end+2:]
		}
	}
	return false
}

// isNotModified reports whether the client has what the tag stands for.
func (req *request) isNotModified(tag string) bool {
	list := req.Request.Header.Values("If-None-Match")
	return len(list) > 0 && matches(list, tag, true)
}

// precondition holds what the request supposes (If-Match, If-None-Match)
// against what there is. It is called within the transaction, so that nothing
// comes between the look and the change.
func (req *request) checkPrecondition(tag string) error {
	if list := req.Request.Header.Values("If-Match"); len(list) > 0 && !matches(list, tag, false) {
		return preconditionFailed(tag)
	}
	if list := req.Request.Header.Values("If-None-Match"); len(list) > 0 && matches(list, tag, true) {
		return alreadyExists()
	}
	return nil
}

// checkRecordPrecondition is precondition for a record. A record that is not there is
// left to the change, which says so, or creates it: but no tag is that of
// nothing.
func (req *request) checkRecordPrecondition(tx *database.Tx) error {
	r, err := tx.Snapshot().Get(req.name, req.id)
	switch {
	case err == nil:
		return req.checkPrecondition(tagOf(r.Value))
	case req.isCreateOnly() && len(req.Request.Header.Values("If-Match")) > 0:
		return preconditionFailed("")
	}
	return nil
}

// checkObjectPrecondition is precondition for a singular resource.
func (req *request) checkObjectPrecondition(tx *database.Tx) error {
	v, err := tx.Snapshot().Value(req.name)
	if err != nil {
		return nil
	}
	return req.checkPrecondition(tagOf(v))
}

// checkListPrecondition is precondition for a collection, or with "" for the database:
// it looks at the tag that a plain GET answers.
func (req *request) checkListPrecondition(tx *database.Tx, name string) error {
	return req.checkPrecondition(req.tagOf(tx.Snapshot(), name, "", openapi.JsonType, nil))
}

// isCreateOnly reports whether a PUT is to create and not to replace.
func (req *request) isCreateOnly() bool {
	return req.Request.Method == http.MethodPut && strings.TrimSpace(req.Request.Header.Get("If-None-Match")) == "*"
}

// setWrittenTag says in the answer to a write which tag the record has now. After
// a PUT it is sent only where what is stored is what was sent (RFC 9110 section
// 9.3.4).
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
	req.setTag(tagOf(stored))
}

// setTag sets ETag with the capitals that it has in RFC 9110.
func (req *request) setTag(tag string) { req.Writer.Header()["ETag"] = []string{tag} }
