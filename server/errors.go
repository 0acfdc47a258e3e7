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
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// fail answers with the problem for err, and logs the cause, which clients do not see.
func (s *server) fail(c *gin.Context, err error) {
	p, cause := problem.Of(err, problem.Keeper(s.db))
	if cause != nil {
		level := slog.LevelError
		if isHealthCheck(c) { // a probe only reports a state, which is in the log already
			level = slog.LevelDebug
		}
		s.Log.LogAttrs(c.Request.Context(), level, "request failed", append([]slog.Attr{
			slog.String("id", requestIDOf(c)), slog.String("method", httpx.Clip(c.Request.Method)),
			slog.String("path", httpx.Clip(sentURL(c.Request).Path)), slog.Any("error", cause)}, httpx.TraceAttrs(c.Request)...)...)
	}
	h := c.Writer.Header()
	for name, values := range p.Header {
		if name == "Connection" && c.Request.ProtoMajor != 1 { // HTTP/2 would close it before the body
			continue
		}
		h[name] = values
	}
	if p.Status == http.StatusNotFound {
		h.Add("Link", describedBy(sessionPath(addressOf(c.Request))))
	}
	h.Set("Cache-Control", "no-store")
	c.Set(problemKey, p)
	s.send(c, p.Status, openapi.ProblemType, httpx.Marshal(p))
	c.Abort()
}

func notFound(s *database.Snapshot, detail string) *problem.Problem {
	p := problem.New(http.StatusNotFound, detail)
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

// noResource returns the problem for a path at which there is nothing.
func (req *request) noResource() *problem.Problem {
	detail := fmt.Sprintf("There is nothing at %q.", httpx.Clip(req.sent.EscapedPath()))
	path := req.Request.URL.Path
	if req.Prefix != "" && path == noRoute {
		detail += " The API is below " + req.Prefix + "."
	} else if !req.offers(path) {
		detail += " The settings of the server turn it off."
	}
	return notFound(req.snap, detail)
}

// missing returns the problem for the part of the path that snap does not have.
func (req *request) missing(snap *database.Snapshot) error {
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
		return notFound(snap, req.name+" was "+was+" and is not any more.")
	}
	return noRecord(snap, req.name, req.id)
}

// noCollection returns the problem for a collection that s, a state of the request's
// database, does not have.
func (req *request) noCollection(s *database.Snapshot, name string) *problem.Problem {
	names := servable(s)
	kind, there := s.Kind(name)
	db, taken := s.Kind("db")
	if there && kind == storage.Other && (!taken || db == storage.Other) {
		return notFound(s, fmt.Sprintf("%q is neither a collection nor an object, so it has no URL of its own. It is part of /db.", httpx.Clip(name)))
	}
	if len(names) == 0 {
		return notFound(s, fmt.Sprintf("There is no collection %q. The database has no collections yet%s.", httpx.Clip(name), req.howToAdd(httpx.Clip(name))))
	}
	near, meant := spell.Nearest(name, names), ""
	if near != "" {
		meant = " Did you mean " + near + "?"
	}
	p := notFound(s, fmt.Sprintf("There is no collection %q.%s There are: %s.", httpx.Clip(name), meant, strings.Join(names, ", ")))
	p.Suggestion = near
	return p
}

// howToAdd says how a collection is added, after a colon, or returns "".
func (req *request) howToAdd(name string) string {
	var ways []string
	if req.Source != nil && req.session == nil {
		if file := req.Source(); file.Folder {
			ways = append(ways, fmt.Sprintf("make the file %s.json with []", name))
		} else {
			ways = append(ways, fmt.Sprintf("add %s: [] to %s", rawjson.AppendQuote(nil, name), file.Name))
		}
	}
	if !req.ReadOnly {
		ways = append(ways, fmt.Sprintf(`send PATCH /db with [{"op":"add","path":%s,"value":[]}] as application/json-patch+json`, rawjson.AppendQuote(nil, rawjson.Pointer(name))))
	}
	if ways == nil {
		return ""
	}
	return ": " + strings.Join(ways, ", or ")
}

// noChildren returns the problem for a path below a record that leads to no collection.
func (req *request) noChildren() *problem.Problem {
	children := slices.DeleteFunc(servable(req.snap), func(name string) bool {
		key := req.snap.ForeignKey(name, req.name)
		return memberOf(req.snap, name) != array || !req.snap.Occurs(name, key) && !req.snap.Schema().Member(name).Knows([]string{key})
	})
	detail := fmt.Sprintf("%q is not a collection whose records refer to %s.", httpx.Clip(req.child), req.name)
	if len(children) > 0 {
		detail += " There are: " + strings.Join(children, ", ") + "."
	}
	p := notFound(req.snap, detail)
	p.Suggestion = spell.Nearest(req.child, children)
	return p
}

func noRecord(s *database.Snapshot, collection, id string) *problem.Problem {
	return notFound(s, fmt.Sprintf("%s has no record with the id %q.", collection, httpx.Clip(id)))
}

func gone(id string) *problem.Problem {
	return problem.New(http.StatusGone, "The history does not reach back to "+httpx.Clip(id)+". Read the data again.")
}
