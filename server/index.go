package server

import (
	"net/url"

	"pickup/internal/rawjson"
	"pickup/internal/storage"

	"pickup/server/openapi"
)

// index answers GET /: what there is and where. Members in the order of the
// file; count is the number of records.
func (k *call) index() error {
	return k.show(openapi.JsonType, "", func(b []byte) ([]byte, error) { return k.appendIndex(b), nil })
}

func (k *call) appendIndex(b []byte) []byte {
	b = rawjson.AppendQuote(append(b, `{"name":"pickup","version":`...), k.Version)
	b = append(b, `,"collections":[`...)
	b = k.appendLinks(b, storage.Array)
	b = append(b, `],"objects":[`...)
	b = k.appendLinks(b, storage.Object)
	b = append(b, `],"service":[`...)
	if kind, ok := k.snap.Kind("db"); !ok || kind == storage.Other {
		b = append(b, `{"name":"db","href":"/db"},`...)
	}
	b = append(b, `{"name":"livez","href":"`+openapi.LivezPath+`"},{"name":"readyz","href":"`+openapi.ReadyzPath+`"},`...)
	if k.Metrics != nil {
		b = append(b, `{"name":"metrics","href":"`+openapi.MetricsPath+`"},`...)
	}
	return append(b, `{"name":"openapi","href":"`+openapi.OpenAPIPath+`"},`+
		`{"name":"docs","href":"`+openapi.DocsPath+`"},{"name":"types","href":"`+openapi.TypesPath+`"}]}`...)
}

func (k *call) appendLinks(b []byte, kind storage.Kind) []byte {
	n := len(b)
	for _, name := range servable(k.snap) {
		if what, _ := k.snap.Kind(name); what != kind {
			continue
		}
		if len(b) > n {
			b = append(b, ',')
		}
		b = rawjson.AppendQuote(append(b, `{"name":`...), name)
		if kind == storage.Array {
			b = openapi.AppendInt(append(b, `,"count":`...), k.snap.Len(name))
		}
		b = rawjson.AppendQuote(append(b, `,"href":`...), "/"+url.PathEscape(name))
		b = append(b, '}')
	}
	return b
}

// database answers GET /db: all top-level members, "$schema" and scalars among
// them.
func (k *call) database() error {
	tag := k.tagOf(k.snap, "", "", openapi.JsonType, nil)
	if k.unchanged(tag) {
		return k.notModified(tag)
	}
	return k.show(openapi.JsonType, tag, func(b []byte) ([]byte, error) { return k.snap.AppendJSON(b), nil })
}
