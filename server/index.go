package server

import (
	"net/url"

	"pickup/internal/rawjson"
	"pickup/internal/storage"

	"pickup/server/openapi"
)

// readIndex answers GET /: what there is and where. Members in the order of the
// file; count is the number of records.
func (req *request) readIndex() error {
	return req.sendTagged(openapi.JsonType, "", func(b []byte) ([]byte, error) { return req.appendIndex(b), nil })
}

func (req *request) appendIndex(b []byte) []byte {
	b = rawjson.AppendQuote(append(b, `{"name":"pickup","version":`...), req.Version)
	b = append(b, `,"collections":[`...)
	b = req.appendLinks(b, storage.Array)
	b = append(b, `],"objects":[`...)
	b = req.appendLinks(b, storage.Object)
	b = append(b, `],"service":[`...)
	if kind, ok := req.snap.Kind("db"); !ok || kind == storage.Other {
		b = append(b, `{"name":"db","href":"/db"},`...)
	}
	b = append(b, `{"name":"livez","href":"`+openapi.LivezPath+`"},{"name":"readyz","href":"`+openapi.ReadyzPath+`"},`...)
	if req.Metrics != nil {
		b = append(b, `{"name":"metrics","href":"`+openapi.MetricsPath+`"},`...)
	}
	return append(b, `{"name":"openapi","href":"`+openapi.OpenAPIPath+`"},`+
		`{"name":"docs","href":"`+openapi.DocsPath+`"},{"name":"types","href":"`+openapi.TypesPath+`"}]}`...)
}

func (req *request) appendLinks(b []byte, kind storage.Kind) []byte {
	n := len(b)
	for _, name := range servable(req.snap) {
		if what, _ := req.snap.Kind(name); what != kind {
			continue
		}
		if len(b) > n {
			b = append(b, ',')
		}
		b = rawjson.AppendQuote(append(b, `{"name":`...), name)
		if kind == storage.Array {
			b = openapi.AppendInt(append(b, `,"count":`...), req.snap.Len(name))
		}
		b = rawjson.AppendQuote(append(b, `,"href":`...), "/"+url.PathEscape(name))
		b = append(b, '}')
	}
	return b
}

// readDatabase answers GET /db: all top-level members, "$schema" and scalars among
// them.
func (req *request) readDatabase() error {
	tag := req.tagOf(req.snap, "", "", openapi.JsonType, nil)
	if req.isNotModified(tag) {
		return req.sendNotModified(tag)
	}
	return req.sendTagged(openapi.JsonType, tag, func(b []byte) ([]byte, error) { return req.snap.AppendJSON(b), nil })
}
