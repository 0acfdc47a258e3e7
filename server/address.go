package server

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"pickup/server/internal/httpx"
)

// The header that names a session, and the path that does so if a client cannot send headers.
const (
	sessionHeader    = "Pickup-Session"
	newSessionHeader = "Pickup-Session-New"
	sessionPrefix    = "/_/s/"
)

// pageHeader is what the service's own pages send.
const pageHeader = "Pickup-Page"

// An address is how the client has addressed a request that the front has changed.
type address struct {
	sent    *url.URL
	session string // the session that the path names, "" if none
	path    string // as sent, without the session, escaped
}

// An addressedContext is the context that the front gives to a request with an address.
type addressedContext struct {
	context.Context
	address *address
}

// addressOf returns the address of a request, nil if the front has not changed the request. The
// addressedContext is the outermost context, so that it is found without a search.
func addressOf(r *http.Request) *address {
	p, _ := r.Context().(addressedContext)
	return p.address
}

// sentURL returns the URL of a request as the client has sent it.
func sentURL(r *http.Request) *url.URL {
	if p := addressOf(r); p != nil {
		return p.sent
	}
	return r.URL
}

// noRoute is a path that no route has.
const noRoute = "*"

// cutSession returns the session that an escaped path begins with, and what follows.
func cutSession(path string) (session, rest string) {
	below, ok := strings.CutPrefix(path, sessionPrefix)
	session, rest, _ = strings.Cut(below, "/")
	if !ok || session == "" {
		return "", path
	}
	return session, "/" + rest
}

// sessionPath returns what the path of a request begins with if it names a session.
func sessionPath(p *address) string {
	if p == nil || p.session == "" {
		return ""
	}
	return sessionPrefix + p.session
}

// sessionOf returns the session that a request names, "" without one.
func sessionOf(r *http.Request) string {
	if p := addressOf(r); p != nil && p.session != "" {
		return p.session
	}
	if names := r.Header[sessionHeader]; len(names) == 1 {
		return names[0]
	}
	return ""
}

// pathOf returns the path that rules match: as it was sent, without session and
// prefix. The pages of a single-page application are one page, whose path is /: the
// names in their paths are often names in the API, too.
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

// urlOf returns the URL that the client has sent, without its query, with the host as the
// client spelled it. It is absolute, so that pages of other origins can follow it.
// X-Forwarded-Proto comes from a proxy that terminates TLS; a client that forges it
// affects only its own links.
func urlOf(r *http.Request) string {
	scheme := "http://"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https://"
	}
	return scheme + uriText(r.Host) + uriText(sentURL(r).EscapedPath())
}

// uriText percent-encodes characters that net/http accepts in a URL but that must
// not be in one between < and >.
func uriText(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`<>"\^{|}`+"`", c) >= 0 {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)+0x100, 16)[1:]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
