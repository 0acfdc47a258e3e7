package server

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pickup/internal/query"
	"pickup/internal/spell"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// readParameters decodes the parameters of the URL. For a read it drops parameters that only
// bypass caches. It limits the number of different parameters to MaxTerms.
func (req *request) readParameters() (err error) {
	req.parameters, err = query.Parameters(req.Request.URL.RawQuery)
	if isSafe(req.Request.Method) {
		req.parameters = slices.DeleteFunc(req.parameters, func(p query.Parameter) bool {
			return query.IsCacheBuster(p.Name) && !req.snap.Occurs(req.collection(), p.Name)
		})
	}
	if err != nil || req.MaxTerms <= 0 || len(req.parameters) <= req.MaxTerms {
		return err
	}
	names := make(map[string]bool)
	for _, p := range req.parameters {
		names[p.Name] = true
		if len(names) > req.MaxTerms {
			return problem.BadParameter(p.Name, "a query may have at most %d different parameters", req.MaxTerms)
		}
	}
	return nil
}

// checkParameters returns an error for the first parameter that the route does not accept.
func (req *request) checkParameters(r *route) error {
	if len(req.parameters) == 0 {
		return nil
	}
	method := req.Request.Method
	known := r.parametersOf(method)
	if slices.Equal(known, []string{anyParameter}) {
		return nil
	}
	if i := slices.Index(known, ownID); i >= 0 {
		known[i] = req.snap.KeyOf(spell.Singular(req.name))
	}
	ofData := r.of == array || r.of == object
	// The client of a DELETE without an id may expect that other parameters select records.
	if !ofData || method == http.MethodDelete && req.id == "" {
		return req.allowOnly(known...)
	}
	return req.takeKnown(known)
}

// takeKnown removes unknown parameters, because json-server ignores unknown parameters of a
// write, and of a single record or object. It logs each name once. It returns an error for a name
// that is probably meant to have an effect and, if the client prefers strict handling, for any.
func (req *request) takeKnown(known []string) error {
	if hasPreference(req.Context, preferStrict) {
		return req.allowOnly(known...)
	}
	kept := req.parameters[:0]
	for _, p := range req.parameters {
		name := withoutBrackets(p.Name)
		if slices.Contains(known, name) {
			kept = append(kept, p)
			continue
		}
		if req.mustHaveEffect(name, known) {
			return unknownParameter(p.Name, known)
		}
		if !query.IsCacheBuster(name) {
			req.logOnce("the parameter has no effect here", req.collection(), "parameter", p.Name)
		}
	}
	req.parameters = kept
	return nil
}

// mustHaveEffect reports whether an unknown parameter is probably meant to have an effect.
func (req *request) mustHaveEffect(name string, known []string) bool {
	if query.IsCacheBuster(name) {
		return false
	}
	if isSafe(req.Request.Method) {
		return strings.HasPrefix(name, "_")
	}
	if name == "_embed" || name == "_expand" {
		return false
	}
	ours := slices.Concat(query.Functions, []string{"Id", "_dependent", "_since"}, known)
	return slices.Contains(ours, name) || strings.HasPrefix(name, "_") && spell.Nearest(name, ours) != ""
}

// withoutBrackets returns the name of a parameter without the brackets that some clients
// add to _embed and _expand.
func withoutBrackets(name string) string {
	if name == "_embed[]" || name == "_expand[]" {
		return strings.TrimSuffix(name, "[]")
	}
	return name
}

func unknownParameter(name string, known []string) *problem.Problem {
	return problem.BadParameter(name, "there is no such parameter here%s", query.DidYouMean(name, known))
}

// allowOnly returns an error for the first unknown parameter.
func (req *request) allowOnly(known ...string) error {
	for _, p := range req.parameters {
		if !slices.Contains(known, withoutBrackets(p.Name)) {
			return unknownParameter(p.Name, known)
		}
	}
	return nil
}

// parameter returns the last value of a parameter of the URL.
func (req *request) parameter(name string) (value string, ok bool) {
	for _, p := range slices.Backward(req.parameters) {
		if p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}

// number returns the value of a parameter, a whole number from low to high. It returns otherwise
// if the URL does not have the parameter.
func (req *request) number(name string, otherwise, low, high int) (int, error) {
	value, ok := req.parameter(name)
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.Atoi(value)
	if err == nil && low <= n && n <= high {
		return n, nil
	}
	if high == math.MaxInt {
		return 0, problem.BadParameter(name, "must be 0 or a positive whole number")
	}
	return 0, problem.BadParameter(name, "must be a whole number from %d to %d", low, high)
}

// onlyStream returns the error for a parameter that only streams accept.
func onlyStream(name string) *problem.Problem {
	return problem.BadParameter(name, "only streams take it")
}

// resolveID sets the id of a record from the query if the path has no id: from Id, id, or the
// name by which other records refer to this collection.
func (req *request) resolveID() error {
	if memberOf(req.snap, req.name) == object {
		return nil
	}
	inPath := req.id != ""
	for _, p := range req.parameters {
		switch {
		case p.Name == "_dependent":
			req.dependent = strings.Split(p.Value, ",")
			err := req.settle(func() error {
				for _, name := range req.dependent {
					if kind, ok := req.snap.Kind(name); !ok || kind != storage.Array {
						return problem.BadParameter("_dependent", "%q is not a collection", httpx.Clip(name))
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		case p.Value == "":
			return problem.BadParameter(p.Name, "the id is empty")
		case req.id == "":
			req.id = p.Value
		case req.id != p.Value && inPath:
			return problem.BadParameter(p.Name, "differs from the id in the path, %q", httpx.Clip(req.id))
		case req.id != p.Value:
			return problem.BadParameter(p.Name, "the request has two different ids")
		}
	}
	if req.id == "" {
		const format = "%s needs the id of a record, as in /%[2]s/4 or /%[2]s?Id=4"
		return problem.BadParameter("Id", format, req.Request.Method, req.name)
	}
	return nil
}

// readCondition reads the body of a QUERY. Invalid JSON is 400, not the 500 that the
// specification prescribes for writes.
func (req *request) readCondition() ([]byte, error) {
	if req.Request.Header.Get("Content-Type") == "" {
		p := problem.BadRequest("A QUERY needs a body with Content-Type: application/json.")
		return nil, p.With("Accept-Query", acceptQuery)
	}
	b, err := req.readSingle()
	if p, ok := errors.AsType[*problem.Problem](err); ok && p.Line > 0 {
		p.Status, p.Title = http.StatusBadRequest, http.StatusText(http.StatusBadRequest)
	}
	if err != nil {
		return nil, err
	}
	if b.array {
		return nil, problem.BadRequest("a condition is a JSON object, as in {\"views\": {\"gt\": 10}}")
	}
	return b.objects[0], nil
}

// collection returns the collection that a list or a POST is about.
func (req *request) collection() string { return cmp.Or(req.child, req.name) }

// checkParent returns an error if the path is below a record that does not exist.
func (req *request) checkParent() error {
	if req.child == "" {
		return nil
	}
	if _, err := req.snap.Get(req.name, req.id); err != nil {
		return noRecord(req.name, req.id)
	}
	return nil
}

// listQuery returns the query of a list and, for the method QUERY, the condition in the body.
func (req *request) listQuery(collection string) (*query.Query, []byte, error) {
	q, condition, err := req.query(collection)
	if err != nil {
		return nil, nil, err
	}
	unknown, err := req.db.CheckFilters(req.snap, q)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range unknown {
		req.logOnce("a filter selects nothing, because no record has its field", collection, "member", name)
	}
	if q.Paging.Parameter == "" && q.Paging.Dialect == query.ByPage {
		req.pageAlone.Do(func() {
			const message = "a page without _limit and _per_page is an array, as in json-server 0.17; " +
				"with _per_page=10 it is an object, as in version 1"
			req.Log.Info(message, "collection", collection)
		})
	}
	if req.child != "" {
		q = req.snap.Under(q, req.name, req.id)
	}
	return q, condition, nil
}

// maxUnknown is the maximum number of names that logOnce logs.
const maxUnknown = 1000

// logOnce logs a message about a name that a client has sent, once for each message, collection
// and name. The log has the name under the key what.
func (s *server) logOnce(message, collection, what, name string) {
	name = httpx.Clip(name)
	if s.unknownCount.Load() >= maxUnknown {
		return
	}
	if _, logged := s.unknown.LoadOrStore([3]string{message, collection, name}, true); !logged {
		s.unknownCount.Add(1)
		s.Log.Info(message, "collection", collection, what, name)
	}
}

// query parses the query of the URL and, for the method QUERY, the condition in the body. It
// returns the condition, too.
func (req *request) query(collection string) (q *query.Query, condition []byte, err error) {
	q, err = req.snap.NewQuery(collection, req.parameters)
	if err == nil && req.Request.Method == methodQuery {
		condition, err = req.readCondition()
		if err == nil {
			q, err = req.snap.Where(q, condition)
		}
		if wrong, ok := errors.AsType[*query.Error](err); ok && wrong.Parameter == "_where" {
			err = problem.BadRequestAt(wrong.Pointer, wrong.Detail) // the condition is in the body
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if req.prefer(preferStrict) {
		err = req.snap.Strict(q)
	}
	return q, condition, err
}
