package server

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/server/openapi"
)

// sendWritten sends the values after a write in the shape of its body, an object or
// an array, with the member names of the body. With return=minimal it sends no
// body. The answer for one record has its ETag.
func (req *request) sendWritten(status int, collection string, b *body, values ...jsontext.Value) error {
	if len(values) == 1 && len(b.objects) == 1 {
		req.setWrittenTag(values[0], b.objects[0])
	}
	if prefer(req.Context, preferMinimal) {
		if status != http.StatusCreated {
			status = http.StatusNoContent
		}
		req.Status(status)
		return nil
	}
	var out []byte
	if b.array {
		out = append(out, '[')
	}
	for i, v := range values {
		var sent jsontext.Value
		if i < len(b.objects) {
			sent = b.objects[i]
		}
		out = req.appendSpelled(rawjson.AppendComma(out), collection, v, sent)
	}
	if b.array {
		out = append(out, ']')
	}
	req.send(req.Context, status, openapi.JSONType, append(out, '\n'))
	return nil
}

// appendSpelled appends the record v. If the schema has several spellings of a
// member, the answer has the one in sent.
func (req *request) appendSpelled(dst []byte, collection string, v, sent jsontext.Value) []byte {
	spelled := make(map[string]string) // by canonical name
	own := make(map[string]bool)       // names that are not aliases
	for quoted := range rawjson.Members(sent) {
		name := rawjson.Unquote(quoted)
		if canonical, ok := req.db.Schema().Member(collection).Alias(name); ok {
			spelled[canonical] = name
		} else {
			own[name] = true
		}
	}
	if len(spelled) == 0 {
		return append(dst, v...)
	}
	dst = append(dst, '{')
	for quoted, value := range rawjson.Members(v) {
		name := rawjson.Unquote(quoted)
		if s, ok := spelled[name]; ok && !own[name] {
			name = s
		}
		dst = rawjson.AppendMember(dst, name, value)
	}
	return append(dst, '}')
}
