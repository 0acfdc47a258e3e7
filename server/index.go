package server

import (
	"net/url"

	"pickup/internal/store"
)

// index answers GET /: what there is and where. Members in the order of the
// file; count is the number of records.
func (k *call) index() error {
	return k.show(jsonType, "", func(b []byte) ([]byte, error) { return k.appendIndex(b), nil })
}

func (k *call) appendIndex(b []byte) []byte {
	b = appendString(append(b, `{"name":"pickup","version":`...), k.Version)
	b = append(b, `,"collections":[`...)
	b = k.appendLinks(b, store.Array)
	b = append(b, `],"objects":[`...)
	b = k.appendLinks(b, store.Object)
	b = append(b, `],"service":[`...)
	if kind, ok := k.snap.Kind("db"); !ok || kind == store.Other {
		b = append(b, `{"name":"db","href":"/db"},`...)
	}
	b = append(b, `{"name":"livez","href":"`+livezPath+`"},{"name":"readyz","href":"`+readyzPath+`"},`...)
	if k.Metrics != nil {
		b = append(b, `{"name":"metrics","href":"`+metricsPath+`"},`...)
	}
	return append(b, `{"name":"openapi","href":"`+openAPIPath+`.json"},{"name":"openapi.yaml","href":"`+openAPIPath+`.yaml"},`+
		`{"name":"docs","href":"`+docsPath+`"},{"name":"types","href":"`+typesPath+`"}]}`...)
}

func (k *call) appendLinks(b []byte, kind store.Kind) []byte {
	n := len(b)
	for _, name := range servable(k.snap) {
		if what, _ := k.snap.Kind(name); what != kind {
			continue
		}
		if len(b) > n {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"name":`...), name)
		if kind == store.Array {
			b = appendInt(append(b, `,"count":`...), k.snap.Len(name))
		}
		b = appendString(append(b, `,"href":`...), "/"+url.PathEscape(name))
		b = append(b, '}')
	}
	return b
}

// database answers GET /db: all top-level members, "$schema" and scalars among
// them.
func (k *call) database() error {
	tag := k.tagOf(k.snap, "", "", jsonType, nil)
	if k.unchanged(tag) {
		return k.notModified(tag)
	}
	return k.show(jsonType, tag, func(b []byte) ([]byte, error) { return k.snap.AppendJSON(b), nil })
}
