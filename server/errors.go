package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// fail sends the problem for err. It logs the cause, which clients must not see.
func (s *server) fail(c *gin.Context, err error) {
	p, cause := problem.Of(err, s.keeper())
	if cause != nil {
		level := slog.LevelError
		if isHealthCheck(c) { // the log already has the state that the probe reports
			level = slog.LevelDebug
		}
		s.Log.Log(c.Request.Context(), level, "request failed",
			"id", requestIDOf(c),
			"method", httpx.Clip(c.Request.Method),
			"path", httpx.Clip(sentURL(c.Request).Path),
			"error", cause,
			slog.GroupAttrs("", httpx.TraceAttrs(c.Request)...))
	}
	h := c.Writer.Header()
	for name, values := range p.Header {
		// HTTP/2 would close the connection before it sends the body.
		if name != "Connection" || c.Request.ProtoMajor == 1 {
			h[name] = values
		}
	}
	if p.Status == http.StatusNotFound {
		h.Add("Link", describedBy(sessionPath(addressOf(c.Request))))
	}
	h.Set("Cache-Control", "no-store")
	c.Set(problemKey, p)
	s.send(c, p.Status, openapi.ProblemType, append(httpx.Marshal(p), '\n'))
	c.Abort()
}

// notFound returns a 404 that lists the collections and objects.
func notFound(s *database.Snapshot, format string, args ...any) *problem.Problem {
	p := problem.Newf(http.StatusNotFound, format, args...)
	p.Collections = servable(s)
	return p
}

// servable returns the names of the fields that have a path.
func servable(s *database.Snapshot) []string {
	var names []string
	for _, name := range s.Names() {
		if memberOf(s, name) != nothing && openapi.HasPath(name) {
			names = append(names, name)
		}
	}
	return names
}

// noResource returns the problem for a path without a resource.
func (req *request) noResource() *problem.Problem {
	detail := fmt.Sprintf("There is nothing at %q.", httpx.Clip(req.sent.EscapedPath()))
	path := req.Request.URL.Path
	if req.Prefix != "" && path == noRoute {
		detail += " The API is below " + req.Prefix + "."
	} else if !req.offers(path) {
		detail += " The settings of the server turn it off."
	}
	return notFound(req.snap, "%s", detail)
}

// missing returns the problem for a path whose collection, object or record is not in snap.
func (req *request) missing(snap *database.Snapshot) error {
	if req.path != nil {
		if _, err := snap.Nested(req.path, false); err != nil {
			return req.leadsNowhere(snap, err)
		}
		return noRecord(req.name, req.id)
	}
	for _, name := range []string{req.name, req.child} {
		if _, ok := snap.Kind(name); !ok && name != "" {
			return req.noCollection(snap, name)
		}
	}
	if req.id == "" {
		was := "an object"
		if memberOf(req.snap, req.name) == array {
			was = "a list"
		}
		return notFound(snap, "%s was %s and is not any more.", req.name, was)
	}
	return noRecord(req.name, req.id)
}

// noCollection returns the problem for a collection that is not in s, a state of the database
// of the request.
func (req *request) noCollection(s *database.Snapshot, name string) *problem.Problem {
	clipped := httpx.Clip(name)
	if _, exists := s.Kind(name); exists && memberOf(s, name) == nothing && memberOf(s, "db") == nothing {
		const format = "%q is neither a collection nor an object, so it has no URL of its own. It is part of /db."
		return notFound(s, format, clipped)
	}
	names := servable(s)
	if len(names) == 0 {
		const format = "There is no collection %q. The database has no collections yet%s."
		return notFound(s, format, clipped, req.howToAdd(clipped))
	}
	near := spell.Nearest(name, names)
	meant := ""
	if near != "" {
		meant = " Did you mean " + near + "?"
	}
	ways := req.howToAdd(clipped)
	creates := slices.Contains([]string{http.MethodPost, http.MethodPut}, req.Request.Method)
	if creates && ways != "" && near == "" && openapi.HasPath(name) {
		meant = " To make it" + ways + "."
	}
	p := notFound(s, "There is no collection %q.%s There are: %s.", clipped, meant, strings.Join(names, ", "))
	p.Suggestion = near
	return p
}

// howToAdd explains, after a colon, how to add a collection. It returns "" if nobody can.
func (req *request) howToAdd(name string) string {
	var ways []string
	if req.Source != nil && req.session == nil {
		way := fmt.Sprintf("add %s: [] to %s", rawjson.Quote(name), req.Source().Name)
		if req.Source().Folder {
			way = "make the file " + name + ".json with []"
		}
		ways = append(ways, way)
	}
	if !req.ReadOnly {
		ways = append(ways, fmt.Sprintf(`send POST /_/transaction with [{"op":"set","collection":%s,"value":[]}]`,
			rawjson.Quote(name)))
	}
	if ways == nil {
		return ""
	}
	return ": " + strings.Join(ways, ", or ")
}

func noRecord(collection, id string) *problem.Problem {
	return problem.Newf(http.StatusNotFound, "%s has no record with the id %q.", collection, httpx.Clip(id))
}

func gone(id string) *problem.Problem {
	return problem.New(http.StatusGone, "The history does not reach back to "+httpx.Clip(id)+". Read the data again.")
}
