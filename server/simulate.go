package server

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/internal/rewrite"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
	"pickup/server/simulate"
)

// simulations are the preferences by which a request asks for a simulation. A parameter with _
// before the name has the same effect, for clients that cannot send headers.
var simulations = []string{"delay", "code", "fault", "hold"}

// simulate applies the effect that the request prefers, or else the effect of a rule: it waits, responds
// instead of the route, or cuts the connection. The request takes precedence over the rules set at run
// time, and these over the rules of the configuration. Responses of the service's own resources are
// never simulated.
func (s *server) simulate(c *gin.Context) {
	twins := takeSimulationParameters(c.Request.URL)
	if len(twins) > 0 {
		takeSimulationParameters(sentURL(c.Request)) // links do not repeat them
	}
	if s.Simulate == nil {
		return
	}
	name := sessionOf(c.Request)
	rules, session := s.stubsOf(name)
	if len(twins) == 0 && c.Request.Header["Prefer"] == nil && rules.IsEmpty() && s.Simulate.Stubs.IsEmpty() &&
		s.Simulate.Delay.Max == 0 {
		return
	}
	path := s.pathOf(c.Request)
	if rewrite.IsService(path) || s.isForeign(c.Request) || name != "" && !simulate.IsName(name) {
		return
	}
	preferred, err := s.preferredEffect(c, twins)
	if err != nil {
		s.fail(c, err)
		return
	}
	effect, peeking := preferred, &request{server: s, Context: c}
	defer peeking.release()
	q := simulate.NewRequest(c.Request.Method, path, sentURL(c.Request).RawQuery)
	q.Header = c.Request.Header
	if !isOwnPage(c.Request) {
		if rules.WantsBody(q) || s.Simulate.Stubs.WantsBody(q) {
			if q.Body, err = peeking.peekBody(); err != nil {
				s.fail(c, err)
				return
			}
		}
		effect = effect.Or(rules.Find(q, s.Simulate.Dice)).Or(s.Simulate.Stubs.Find(q, s.Simulate.Dice))
		if effect.Delay == nil && s.Simulate.Delay.Max > 0 {
			effect.Delay = &s.Simulate.Delay
		}
	}
	s.apply(c, effect, held{Method: c.Request.Method, Path: path, Session: name, session: session, request: q})
	c.Next() // the deferred release of the memory for the body must come after the route
}

// stubsOf returns the session called name and the rules that were set in it at run time, or nil
// and nil if there is no such session. An empty name stands for no session.
func (s *server) stubsOf(name string) (*simulate.Stubs, *session) {
	if name == "" {
		return &s.simulation.stubs, nil
	}
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	if x := s.sessions.byName[name]; x != nil {
		return x.stubs, x
	}
	return nil, nil
}

// apply carries out an effect: the delay, the hold, and then the response. If the effect has no
// response, the request goes on.
func (s *server) apply(c *gin.Context, e simulate.Effect, h held) {
	if e.Delay != nil && e.Delay.Max > 0 {
		delay := e.Delay.Pick(s.Simulate.Dice)
		s.note(c, "delay", "delay="+strconv.FormatInt(delay.Milliseconds(), 10))
		if err := s.wait(c, delay, nil, h.session); err != nil {
			s.fail(c, err)
			return
		}
	}
	if e.Hold != "" {
		s.note(c, "hold", "hold="+e.Hold)
		answer, err := s.hold(c, e.Hold, h)
		if err != nil {
			s.fail(c, err)
			return
		}
		s.apply(c, answer.Or(simulate.Effect{Outcome: e.Outcome}), h)
		return
	}
	if e.Code != 0 {
		s.note(c, "code", "code="+strconv.Itoa(e.Code))
		s.sendSimulated(c, e.Outcome)
		return
	}
	if e.Fault == "" {
		return
	}
	s.note(c, string(e.Fault), "fault="+string(e.Fault))
	if e.Fault == simulate.LostAnswer {
		answer := c.Writer
		c.Writer = &truncatingWriter{ResponseWriter: answer}
		c.Next()
		c.Writer = answer
	}
	if e.Fault == simulate.EmptyResponse {
		readAhead(c.Request) // the system resets a connection that is closed with unread data
	}
	cut(c, e.Fault != simulate.EmptyResponse)
}

// note adds a simulation to the headers of the response and to the metrics.
func (s *server) note(c *gin.Context, kind, simulation string) {
	header := c.Writer.Header()
	list := append(header[simulatedHeader], simulation)
	header.Set(simulatedHeader, strings.Join(list, ", "))
	header.Set("Cache-Control", "no-store")
	s.metrics.simulated.WithLabelValues(kind).Inc()
}

// sendSimulated responds instead of the route, which does not run.
func (s *server) sendSimulated(c *gin.Context, o simulate.Outcome) {
	header := c.Writer.Header()
	switch o.Code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		header.Set("Retry-After", "1")
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", "Bearer") // a browser would show a dialog for Basic
	}
	contentType, body := openapi.JSONType, o.Body
	if o.Body == nil {
		detail := "Simulated, because the request asked for it (Prefer)."
		if o.Stub {
			detail = "Simulated: a rule says so."
		}
		p := problem.New(o.Code, detail)
		p.Title = cmp.Or(p.Title, "Simulated")
		c.Set(problemKey, p)
		contentType, body = openapi.ProblemType, append(httpx.Marshal(p), '\n')
	}
	for name, value := range o.Headers {
		header.Set(name, value)
	}
	contentType = cmp.Or(header.Get("Content-Type"), contentType)
	c.Abort()
	switch o.Code {
	case http.StatusNoContent, http.StatusResetContent, http.StatusNotModified:
		c.Status(o.Code)
	default:
		s.send(c, o.Code, contentType, body)
	}
}

// hold waits until the request is released, at most for MaxDelay, and returns the effect that the
// client has sent with the release.
func (s *server) hold(c *gin.Context, name string, h held) (simulate.Effect, error) {
	h.Name = name
	h.Path = httpx.Clip(h.Path)
	h.Since = time.Now().UTC()
	h.released = make(chan struct{})
	l := &s.simulation.holds
	l.mu.Lock()
	l.list = append(l.list, &h)
	if l.arrived != nil {
		close(l.arrived)
		l.arrived = nil
	}
	l.mu.Unlock()
	db := s.db
	if h.session != nil {
		db = h.session.db
	}
	s.simulation.changed(db)
	defer s.simulation.changed(db)
	err := s.wait(c, s.Simulate.MaxDelay, h.released, h.session)
	l.mu.Lock()
	l.list = slices.DeleteFunc(l.list, func(other *held) bool { return other == &h })
	answer := h.answer
	l.mu.Unlock()
	return answer, err
}

// takeSimulationParameters removes the parameters for a simulation from the query of a URL, where
// they would be filters, and returns them.
func takeSimulationParameters(u *url.URL) map[string]string {
	if u.RawQuery == "" ||
		!slices.ContainsFunc(simulations, func(name string) bool { return strings.Contains(u.RawQuery, name) }) {
		return nil
	}
	twins := make(map[string]string)
	parts := strings.Split(u.RawQuery, "&")
	u.RawQuery = strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		name, value, _ := strings.Cut(part, "=")
		name, isTwin := strings.CutPrefix(name, "_")
		if !isTwin || !slices.Contains(simulations, name) {
			return false
		}
		if text, err := url.QueryUnescape(value); err == nil {
			value = text
		}
		if _, again := twins[name]; !again {
			twins[name] = value
		}
		return true
	}), "&")
	return twins
}

// preferredEffect returns the effect that the request prefers. It ignores an impossible preference, and
// refuses it with handling=strict. It always refuses a delay that is too long.
func (s *server) preferredEffect(c *gin.Context, twins map[string]string) (e simulate.Effect, err error) {
	strict := hasPreference(c, preferStrict)
	for _, name := range simulations {
		value, found := preferenceOf(c, name)
		parameter := ""
		if !found {
			parameter = "_" + name
			value, found = twins[name]
			if !found {
				continue
			}
		}
		wrong := e.Set(name, value, 400, s.Simulate.MaxDelay)
		if wrong == nil && e.Code != 0 && e.Fault != "" {
			e.Fault, wrong = "", errors.New("a request may have a code or a fault, not both")
		}
		switch {
		case wrong == nil:
			c.Writer.Header().Add("Preference-Applied", name+"="+value)
		case !strict && !errors.Is(wrong, simulate.ErrTooLong):
		case parameter != "":
			return e, problem.BadParameter(parameter, "%v", wrong)
		default:
			return e, problem.BadRequest(httpx.Sentence("Prefer: " + name + ": " + wrong.Error()))
		}
	}
	return e, nil
}
