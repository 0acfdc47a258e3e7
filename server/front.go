package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"pickup/internal/rewrite"
)

// A front is the handler in front of Gin. It takes off what a path has before the
// paths of routes.go: the path of a session, then Options.Prefix. Before the prefix
// it applies Options.Routes. A request that none of them concerns passes as it is.
type front struct {
	*server
	next http.Handler
}

// A place is how the client has addressed a request that the front has changed.
type place struct {
	sent    *url.URL
	session string // the session that the path names, "" if none
	path    string // as sent, without the session, escaped
}

type placeKey struct{}

// placeOf returns the place of a request, nil if the front has not changed it.
func placeOf(r *http.Request) *place {
	p, _ := r.Context().Value(placeKey{}).(*place)
	return p
}

// sentURL returns the URL of a request as the client has sent it.
func sentURL(r *http.Request) *url.URL {
	if p := placeOf(r); p != nil {
		return p.sent
	}
	return r.URL
}

// nowhere is a path that no route has.
const nowhere = "*"

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !wantsStream(r) {
		f.serve(w, r)
		return
	}
	// A stream needs no more than its connection: it runs when Gin and the middleware
	// have returned, and what they need for a request is free again.
	var s *stream
	f.serve(w, r.WithContext(context.WithValue(r.Context(), streamKey{}, &s)))
	if s != nil {
		s.run(w, r)
	}
}

func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	var table *rewrite.Table
	if f.Routes != nil {
		table = f.Routes()
	}
	if f.Prefix != "" || table != nil || strings.HasPrefix(r.URL.Path, sessionPrefix) {
		r = f.move(r, table)
	}
	f.next.ServeHTTP(w, r)
}

// move returns the request with the path that Gin matches.
func (f *front) move(r *http.Request, table *rewrite.Table) *http.Request {
	p := &place{sent: r.URL}
	p.session, p.path = cutSession(r.URL.EscapedPath())
	path, query := p.path, r.URL.RawQuery
	if table != nil && !rewrite.IsService(path) {
		if path, query, _ = table.Rewrite(path, query); rewrite.IsService(path) {
			path = nowhere
		}
	}
	if !rewrite.IsService(path) {
		path = f.withoutPrefix(path)
	}
	u := *r.URL
	var err error
	if u.Path, err = url.PathUnescape(path); err != nil {
		u.Path = nowhere
	}
	u.RawPath, u.RawQuery = path, query
	r = r.WithContext(context.WithValue(r.Context(), placeKey{}, p))
	r.URL = &u
	return r
}

// cutSession returns the session that an escaped path begins with, and what follows.
func cutSession(path string) (session, rest string) {
	below, ok := strings.CutPrefix(path, sessionPrefix)
	session, rest, _ = strings.Cut(below, "/")
	if !ok || session == "" {
		return "", path
	}
	return session, "/" + rest
}

// withoutPrefix returns a path of the API without the prefix. It returns nowhere
// for a path that does not have the prefix, or would be one of the service then.
func (f *front) withoutPrefix(path string) string {
	rest, ok := strings.CutPrefix(path, f.Prefix)
	switch {
	case ok && rest == "":
		return "/"
	case !ok || rest[0] != '/' || rewrite.IsService(rest):
		return nowhere
	}
	return rest
}

// sessionPath returns what the path of a request begins with if it names a session.
func sessionPath(p *place) string {
	if p == nil || p.session == "" {
		return ""
	}
	return sessionPrefix + p.session
}
