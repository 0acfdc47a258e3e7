package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"pickup/server/internal/httpx"
)

// The header that names a session, and the path for clients that cannot send headers.
const (
	sessionHeader    = "Pickup-Session"
	newSessionHeader = "Pickup-Session-New"
	sessionPrefix    = "/_/s/"
)

// pageHeader is a header of requests from pages of the service.
const pageHeader = "Pickup-Page"

// An address is the address of a request before the front changed the path.
type address struct {
	sent    *url.URL
	session string // the session in the path; "": none
	path    string // as sent, without the session, escaped
}

// An addressedContext is the context of a request that the front has changed.
type addressedContext struct {
	context.Context
	address *address
}

// addressOf returns the address of a request, nil if the front has not changed the request. It need
// not search, because the addressedContext is the outermost context.
func addressOf(r *http.Request) *address {
	p, _ := r.Context().(addressedContext)
	return p.address
}

// sentURL returns the URL of a request as sent by the client.
func sentURL(r *http.Request) *url.URL {
	if p := addressOf(r); p != nil {
		return p.sent
	}
	return r.URL
}

// noRoute is a path without a route.
const noRoute = "*"

// cutSession returns the session at the start of an escaped path, and the rest of the path.
func cutSession(path string) (session, rest string) {
	below, ok := strings.CutPrefix(path, sessionPrefix)
	session, rest, _ = strings.Cut(below, "/")
	if !ok || session == "" {
		return "", path
	}
	return session, "/" + rest
}

// sessionPath returns the part of the path that names a session, or "".
func sessionPath(p *address) string {
	if p == nil || p.session == "" {
		return ""
	}
	return sessionPrefix + p.session
}

// sessionOf returns the session that a request names, or "".
func sessionOf(r *http.Request) string {
	if p := addressOf(r); p != nil && p.session != "" {
		return p.session
	}
	if names := r.Header[sessionHeader]; len(names) == 1 {
		return names[0]
	}
	return ""
}

// pathOf returns the path for stubs: as sent, without session and prefix. For a page of a
// single-page application it returns /, because the paths of pages often look like paths of the API.
func (s *server) pathOf(r *http.Request) string {
	p := addressOf(r)
	if p == nil {
		return r.URL.EscapedPath()
	}
	if below, ok := strings.CutPrefix(p.path, s.Prefix); ok && (below == "" || below[0] == '/') {
		return below
	}
	if s.SPA && r.URL.Path == noRoute && isPage(r, p.path) {
		return "/"
	}
	return p.path
}

// isPage reports whether a browser expects a page at a path, and not a file.
func isPage(r *http.Request, sent string) bool {
	return httpx.IsRead(r) && !strings.Contains(path.Base(sent), ".") && httpx.Prefers(r, "text/html")
}

// urlOf returns the absolute URL of a request as sent by the client, without the query. Pages of
// other origins can follow an absolute URL. X-Forwarded-Proto comes from a proxy that terminates
// TLS; a client that forges the header only affects the links in the response.
func urlOf(r *http.Request) string {
	scheme := "http://"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https://"
	}
	return scheme + uriText(r.Host) + uriText(sentURL(r).EscapedPath())
}

// uriText percent-encodes characters that net/http accepts in a URL but that are not allowed in a URL
// between < and >.
func uriText(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`<>"\^{|}`+"`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
