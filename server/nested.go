package server

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/rewrite"
	"pickup/internal/spell"
	"pickup/internal/storage"
	"pickup/server/internal/problem"
)

// Values inside records have addresses, too: /playlists/1/videos/7. A request for a nested value is a
// request for a view of the database. The value is a top-level field of the view (see
// database.Nested), so the handlers of collections and objects serve the request.

// The routes of nested values.
var (
	nestedList = route{
		of:         array,
		get:        (*request).list,
		query:      (*request).list,
		post:       (*request).create,
		put:        (*request).assign,
		delete:     (*request).drop,
		parameters: anyParameter,
	}
	nestedRecord = route{
		of:         array,
		get:        (*request).read,
		put:        (*request).replace,
		patch:      (*request).patch,
		delete:     (*request).remove,
		parameters: ofRecord,
	}
	nestedObject = route{
		of:         object,
		get:        (*request).read,
		put:        (*request).replaceObject,
		patch:      (*request).patch,
		delete:     (*request).drop,
		parameters: ofRecord,
	}
	nestedValue = route{of: array, get: (*request).read, put: (*request).assign, delete: (*request).drop}
	nestedID    = route{of: array, get: (*request).read, put: (*request).refuseID, delete: (*request).refuseID}
)

// deep are the choices for a path with more names than those of routes.go.
var deep = []*route{{of: array}, {of: object}}

// serveDeep serves a path with more names than the routes have. It reports false for other paths.
func (s *server) serveDeep(c *gin.Context) bool {
	path := c.Request.URL.EscapedPath()
	names := strings.Split(strings.Trim(path, "/"), "/")
	if rewrite.IsService(path) || len(names) < 4 {
		return false
	}
	c.Params = nil
	keys := []string{"collection", "id", "child", "field"}
	for i, name := range names {
		c.Params = append(c.Params, gin.Param{Key: keys[min(i, 3)], Value: name})
	}
	s.serve(deep)(c)
	return true
}

// isChild reports whether the third name of the path means the records of another collection that
// refer to a record. The name means the value of a field if there is no such collection, or if the
// record has the field and no record of the collection refers to the records of the path.
func (req *request) isChild() bool {
	if memberOf(req.snap, req.child) != array {
		return false
	}
	r, err := req.snap.Get(req.name, req.id)
	if err != nil {
		return true
	}
	field, _ := rawjson.Member(r.Value, req.child)
	return field.Kind() != '[' && field.Kind() != '{' || req.snap.Refers(req.child, req.name)
}

// chooseNested returns the route for the value that the path leads to. From then on, the request is
// a request to the view with the value.
func (req *request) chooseNested() (*route, error) {
	path := make([]string, len(req.Params))
	for i, p := range req.Params {
		path[i] = p.Value
	}
	req.hideSecrets(strings.Join(path[1:], "/"))
	n, err := req.snap.Nested(path, req.Request.Method == http.MethodPost)
	if err != nil {
		return nil, req.leadsNowhere(req.snap, err)
	}
	req.snap = n.View
	req.path = path
	req.name = n.Name
	req.id = n.ID
	req.child = ""
	r := nestedValue
	switch what := memberOf(n.View, n.Name); {
	case n.IsID:
		r = nestedID
	case what == array && n.ID != "":
		r = nestedRecord
	case what == array:
		r = nestedList
	case what == object:
		r = nestedObject
	default:
		req.form = nil
	}
	if n.ReadOnly {
		r = route{of: r.of, get: r.get, query: r.query, parameters: r.parameters}
	}
	return &r, nil
}

// leadsNowhere returns the problem for a path that leads to nothing in snap.
func (req *request) leadsNowhere(snap *database.Snapshot, err error) error {
	faults, ok := errors.AsType[*database.FaultError](err)
	if !ok || !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	f := faults.Faults[0]
	if !strings.HasSuffix(f.Detail, "?") {
		f.Detail += "."
	}
	p := notFound(snap, "%s", f.Detail)
	p.Suggestion = f.Suggestion
	if f.Pointer == "/2" && req.id != "" {
		req.addChildren(p)
	}
	return p
}

// addChildren adds to a problem the collections whose records refer to those of the path.
func (req *request) addChildren(p *problem.Problem) {
	children := slices.DeleteFunc(servable(req.snap), func(name string) bool {
		return !req.snap.Refers(name, req.name)
	})
	if len(children) > 0 {
		p.Detail += " Collections whose records refer to " + req.name + ": " + strings.Join(children, ", ") + "."
	}
	p.Suggestion = cmp.Or(p.Suggestion, spell.Nearest(req.child, children))
}

// belowChildren returns the problem for a path like /posts/1/comments/7.
func (req *request) belowChildren() error {
	p := req.noResource()
	address := req.base() + "/" + url.PathEscape(req.child) + "/" + url.PathEscape(req.Params[3].Value)
	p.Detail += " The records of " + req.child + " are at " + address + "."
	return p
}

// nested returns a change of the nested value of the path, given a change of the view. It returns fn
// if the path leads to no nested value.
func (req *request) nested(fn func(*database.Tx) error) func(*database.Tx) error {
	if req.path == nil {
		return fn
	}
	return func(tx *database.Tx) error {
		return tx.Nested(req.path, req.Request.Method == http.MethodPost, fn)
	}
}

// viewOf returns the view of snap with the nested value of the path, or snap without such a value.
func (req *request) viewOf(snap *database.Snapshot) *database.Snapshot {
	if req.path == nil {
		return snap
	}
	n, err := snap.Nested(req.path, false)
	if err != nil {
		return snap
	}
	return n.View
}

// href returns the path of a collection for the client.
func (req *request) href(collection string) string {
	if req.path != nil {
		return req.base() + collection
	}
	return req.base() + "/" + url.PathEscape(collection)
}

// replaceObject serves PUT of a nested object, which stays an object.
func (req *request) replaceObject() error {
	err := req.replace()
	if errors.Is(err, storage.ErrShape) {
		const detail = "%s is an object, which PUT does not turn into another value: change the record instead."
		return problem.Newf(http.StatusUnprocessableEntity, detail, req.name)
	}
	return err
}

// assign serves PUT of a nested value as a whole: the body is the value.
func (req *request) assign() error {
	req.form = nil
	value, err := req.readJSON()
	if err != nil {
		return err
	}
	after, err := req.updateWhole(func(tx *database.Tx) (*database.Record, error) {
		return tx.Assign(req.name, value)
	})
	if err != nil {
		return err
	}
	n, err := after.Nested(req.path, false)
	if err != nil {
		return req.missing(after)
	}
	sent := new(body)
	if memberOf(n.View, n.Name) != array { // a list has another tag
		sent.objects = []jsontext.Value{value}
	}
	return req.sendWritten(http.StatusOK, req.name, sent, n.Value)
}

// drop serves DELETE of a field. The response is the value of the field.
func (req *request) drop() error {
	var dropped *database.Record
	_, err := req.updateWhole(func(tx *database.Tx) (_ *database.Record, err error) {
		dropped, err = tx.Drop(req.name)
		return dropped, err
	})
	if err != nil {
		return err
	}
	if dropped.Value.Kind() == '[' {
		req.form = nil
	}
	return req.sendWritten(http.StatusOK, req.name, new(body), dropped.Value)
}

// updateWhole checks the preconditions of the request and then runs change as a transaction on the
// nested value of the path.
func (req *request) updateWhole(change func(*database.Tx) (*database.Record, error)) (*database.Snapshot, error) {
	if memberOf(req.snap, req.name) != array {
		return req.updateTarget(change)
	}
	return req.updateList(req.name, func(tx *database.Tx) error {
		_, err := change(tx)
		return err
	})
}

// refuseID refuses a write of an id.
func (req *request) refuseID() error {
	return problem.New(http.StatusBadRequest, "An id cannot be changed or deleted.")
}
