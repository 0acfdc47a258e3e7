package database

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// An operation is a step of a transaction, see Do.
type operation struct {
	op, collection, id string
	record, value      jsontext.Value
	condition          jsontext.Value // its field "if", or nil
	unset              []string
	path               []string // to a nested value; nil: the operation is for what the id names
	field, to          string
}

// operationFields has the fields of each operation besides op; one that ends in a question mark
// may be missing.
var operationFields = map[string][]string{
	"create":  {"collection", "id?", "path?", "record"},
	"update":  {"collection", "id?", "path?", "record?", "unset?", "if?"},
	"replace": {"collection", "id?", "path?", "record", "if?"},
	"delete":  {"collection", "id?", "path?", "if?"},
	"set":     {"collection", "id?", "path?", "value"},
	"remove":  {"collection", "id?", "path?", "if?"},
	"rename":  {"collection", "field?", "to"},
	"unset":   {"collection", "field"},
}

// parseOperation reads an operation. The error is a *FaultError that wraps ErrShape.
func parseOperation(v jsontext.Value) (*operation, error) {
	if v.Kind() != '{' {
		return nil, malformed("", "an operation is an object, not %s", rawjson.KindName(v))
	}
	op := new(operation)
	if name, _ := rawjson.Member(v, "op"); name.Kind() == '"' {
		op.op = rawjson.Unquote(name)
	}
	fields, ok := operationFields[op.op]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(operationFields)), ", ")
		return nil, malformed("/op", "an operation has an op: %s", known)
	}
	for name, value := range rawjson.Fields(v) {
		if name == "op" {
			continue
		}
		if !slices.Contains(fields, name) && !slices.Contains(fields, name+"?") {
			known := strings.ReplaceAll(strings.Join(fields, ", "), "?", "")
			return nil, malformed(rawjson.Pointer(name), "%s has only %s", op.op, known)
		}
		if err := op.read(name, value); err != nil {
			return nil, err
		}
	}
	for _, name := range fields {
		if _, has := rawjson.Member(v, name); !has && !strings.HasSuffix(name, "?") {
			return nil, malformed("/"+name, "%s has a %s", op.op, name)
		}
	}
	if op.op == "delete" && op.id == "" && op.path == nil {
		return nil, malformed("/id", "delete has a id")
	}
	if slices.Contains([]string{"create", "set", "remove"}, op.op) && op.id != "" && op.path == nil {
		return nil, malformed("/id", "%s has an id only with a path, to a nested value", op.op)
	}
	if op.op == "update" && op.record == nil && op.unset == nil {
		return nil, malformed("/record", "update has a record, or unset")
	}
	return op, nil
}

// maxName is the maximum number of bytes of a name in an operation, as of one in a body.
const maxName = 1 << 10

// read reads a field.
func (op *operation) read(name string, value jsontext.Value) error {
	texts := map[string]*string{"collection": &op.collection, "id": &op.id, "field": &op.field, "to": &op.to}
	objects := map[string]*jsontext.Value{"record": &op.record, "if": &op.condition}
	if to := texts[name]; to != nil {
		text, ok := rawjson.Text(value)
		if !ok || text == "" || name != "id" && (value.Kind() != '"' || len(text) > maxName) {
			also := ""
			if name == "id" {
				also = ", or a number"
			}
			return malformed("/"+name, "must be a string of 1 to %d bytes%s", maxName, also)
		}
		*to = text
		return nil
	}
	if to := objects[name]; to != nil {
		if value.Kind() != '{' {
			return malformed("/"+name, "must be an object, not %s", rawjson.KindName(value))
		}
		*to = rawjson.Unescaped(value)
		return nil
	}
	if name == "value" {
		op.value = rawjson.Unescaped(value)
		return nil
	}
	if value.Kind() != '[' {
		return malformed("/"+name, "must be a list of names, as in [\"title\"]")
	}
	list := []string{}
	for v := range rawjson.Elements(value) {
		field, _ := rawjson.Text(v)
		if v.Kind() != '"' || len(field) > maxName {
			at := fmt.Sprintf("/%s/%d", name, len(list))
			return malformed(at, "must be a string of at most %d bytes", maxName)
		}
		list = append(list, field)
	}
	if name == "unset" {
		op.unset = list
		return nil
	}
	if len(list) == 0 {
		return malformed("/path", "is empty: it names a field, as in [\"videos\", \"7\"]")
	}
	op.path = list
	return nil
}
