package server

import (
	"net/url"

	"pickup/server/internal/httpx"
)

// index is the body of GET /.
type index struct {
	Name        string           `json:"name"`
	Version     string           `json:"version"`
	Collections []collectionLink `json:"collections"`
	Objects     []link           `json:"objects"`
	Service     []link           `json:"service"`
}

type collectionLink struct {
	Name  string `json:"name"`
	Count int    `json:"count"` // of records
	Href  string `json:"href"`
}

// readIndex serves GET /: the collections and objects, in the order of the file, and the resources of
// the service. A browser gets the index.html of Options.Static, or is redirected to the page.
func (req *request) readIndex() error {
	if len(req.Static) > 0 && httpx.Prefers(req.Request, "text/html") && req.sendStatic() {
		return nil
	}
	if req.toPage() {
		return nil
	}
	if err := req.allowOnly(); err != nil { // pages may have parameters
		return err
	}
	req.Writer.Header().Add("Link", describedBy(req.sessionPath))
	return req.sendValue(req.index())
}

func (req *request) index() index {
	x := index{
		Name:        "pickup",
		Version:     req.Version,
		Collections: []collectionLink{},
		Objects:     []link{},
		Service:     []link{},
	}
	for _, name := range servable(req.snap) {
		href := req.base() + "/" + url.PathEscape(name)
		if memberOf(req.snap, name) == array {
			x.Collections = append(x.Collections, collectionLink{name, req.snap.Len(name), href})
		} else {
			x.Objects = append(x.Objects, link{Name: name, Href: href})
		}
	}
	if memberOf(req.snap, "db") == nothing {
		x.Service = append(x.Service, link{Name: "db", Href: req.base() + "/db"})
	}
	for _, l := range req.service {
		if !l.outside {
			l.Href = req.sessionPath + l.Href
		}
		x.Service = append(x.Service, l)
	}
	return x
}
