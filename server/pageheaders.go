package server

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"pickup/internal/database"
	"pickup/internal/query"
)

// maxLinked is the maximum length of a query, in bytes, that Link repeats. Clients
// limit the size of headers.
const maxLinked = 2 << 10

// setPageHeaders sets X-Total-Count and Link, as json-server 0.17 has them, and
// Content-Range if the answer is part of a list. Links are followed with GET, so
// those of a QUERY contain its condition.
func (req *request) setPageHeaders(collection string, r *database.Result, condition []byte) {
	if r.Dialect == query.Whole {
		return
	}
	h := req.Writer.Header()
	total := strconv.Itoa(r.Total)
	h.Set("X-Total-Count", total)
	part := "*"
	if n := len(r.Records); n > 0 {
		part = strconv.Itoa(r.Offset) + "-" + strconv.Itoa(r.Offset+n-1)
	}
	// A range unit is a token, which an escaped name always is.
	h.Set("Content-Range", url.QueryEscape(collection)+" "+part+"/"+total)
	query := req.sent.RawQuery
	if condition != nil {
		query += "&_where=" + url.QueryEscape(string(condition))
	}
	if len(query) > maxLinked {
		return
	}
	var links []string
	for _, l := range r.Links(query) {
		links = append(links, "<"+urlOf(req.Request)+"?"+uriText(l.Query)+`>; rel="`+l.Rel+`"`)
	}
	if links != nil {
		h.Set("Link", strings.Join(links, ", "))
	}
}

// urlOf returns the URL that the client has sent, without its query, with the host as the
// client spelled it. It is absolute, so that pages of other origins can follow it.
// X-Forwarded-Proto is that of a proxy that terminates TLS; a client that forges it
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
