package server

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/rewrite"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
	"pickup/server/simulate"
)

// A Simulation lets requests and rules ask for slow, failing and fixed answers.
type Simulation struct {
	// Rules are those of the configuration. nil: none.
	Rules *simulate.Rules

	// Delay is the delay of all requests for which nothing else is said.
	Delay simulate.Range

	// MaxDelay is the maximum time of a delay or a hold. 0: 60 s.
	MaxDelay time.Duration

	// Dice decide about percentages and ranges. nil: random.
	Dice simulate.Dice
}

const (
	simulatedHeader = "Pickup-Simulated"
	defaultMaxDelay = time.Minute
)

// A simulation is the state of a Simulation in use.
type simulation struct {
	rules   simulate.Rules // set at run time, outside of sessions
	holds   holds
	waiting atomic.Int32
	changes atomic.Uint64 // of rules and holds
}

// changed tells the clients of a database that its rules or holds have changed.
func (s *simulation) changed(db *database.DB) {
	s.changes.Add(1)
	db.Wake()
}

// simulate does to the request what it prefers and what rules say: it waits, answers
// in place of the route, or cuts the connection. The request wins over the rules set
// at run time, and these over the rules of the configuration. The service's own
// resources are never simulated.
func (s *server) simulate(c *gin.Context) {
	twins := takeTwins(c.Request.URL)
	if twins != nil {
		takeTwins(sentURL(c.Request)) // links do not repeat them
	}
	if s.Simulate == nil {
		return
	}
	name := sessionOf(c.Request)
	rules, session := s.rulesOf(name)
	if twins == nil && c.Request.Header["Prefer"] == nil && rules.IsEmpty() && s.Simulate.Rules.IsEmpty() && s.Simulate.Delay.Max == 0 {
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
	effect := preferred
	if !isOwnPage(c.Request) {
		request := simulate.NewRequest(c.Request.Method, path, sentURL(c.Request).RawQuery)
		effect = effect.Or(rules.Find(request, s.Simulate.Dice)).Or(s.Simulate.Rules.Find(request, s.Simulate.Dice))
		if effect.Delay == nil && s.Simulate.Delay.Max > 0 {
			effect.Delay = &s.Simulate.Delay
		}
	}
	s.apply(c, effect, held{Method: c.Request.Method, Path: path, Session: name, session: session})
}

// pathOf returns the path that rules match: as it was sent, without session and
// prefix. The pages of a single-page application are one page, whose path is /: the
// names in their paths are often those of the API.
func (s *server) pathOf(r *http.Request) string {
	p := placeOf(r)
	if p == nil {
		return r.URL.EscapedPath()
	}
	if below, ok := strings.CutPrefix(p.path, s.Prefix); ok && (below == "" || below[0] == '/') {
		return below
	}
	if s.SPA && r.URL.Path == nowhere && isPage(r, p.path) {
		return "/"
	}
	return p.path
}

// rulesOf returns the session of that name, and the rules that were set in it at run
// time; both are nil if there is none. For "" the rules are those set outside of
// sessions.
func (s *server) rulesOf(name string) (*simulate.Rules, *session) {
	if name == "" {
		return &s.simulation.rules, nil
	}
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	if x := s.sessions.byName[name]; x != nil {
		return &x.rules, x
	}
	return nil, nil
}

// apply carries out an effect: the delay, the hold, and then the answer. Without an
// answer of its own the request goes on.
func (s *server) apply(c *gin.Context, e simulate.Effect, h held) {
	if e.Delay != nil && e.Delay.Max > 0 {
		delay := e.Delay.Pick(s.Simulate.Dice)
		s.note(c, "delay", "delay", strconv.FormatInt(delay.Milliseconds(), 10))
		if err := s.wait(c, delay, nil, h.session); err != nil {
			s.fail(c, err)
			return
		}
	}
	if e.Hold != "" {
		s.note(c, "hold", "hold", e.Hold)
		if err := s.hold(c, e.Hold, h); err != nil {
			s.fail(c, err)
			return
		}
	}
	switch {
	case e.Code != 0:
		s.note(c, "code", "code", strconv.Itoa(e.Code))
		s.sendSimulated(c, e.Outcome)
	case e.Fault != "":
		s.note(c, string(e.Fault), "fault", string(e.Fault))
		if e.Fault == simulate.LostAnswer {
			answer := c.Writer
			c.Writer = &lostWriter{ResponseWriter: answer}
			c.Next()
			c.Writer = answer
		}
		if e.Fault == simulate.EmptyResponse {
			readAhead(c.Request) // the system resets a connection that is closed with unread data
		}
		cut(c, e.Fault != simulate.EmptyResponse)
	}
}

// note adds what is simulated to the headers of the answer and to the metrics.
func (s *server) note(c *gin.Context, kind, name, value string) {
	header := c.Writer.Header()
	list := append(header[simulatedHeader], name+"="+value)
	header.Set(simulatedHeader, strings.Join(list, ", "))
	header.Set("Cache-Control", "no-store")
	if s.Metrics != nil {
		s.Metrics.simulated.WithLabelValues(kind).Inc()
	}
}

// isSimulated reports whether an answer was delayed, held, or made up.
func isSimulated(c *gin.Context) bool { return c.Writer.Header()[simulatedHeader] != nil }

// isCut reports whether the connection was cut in place of an answer.
func isCut(c *gin.Context) bool {
	return strings.Contains(c.Writer.Header().Get(simulatedHeader), "fault=")
}

// sendSimulated answers in place of the route, which does not run.
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
		if o.Rule {
			detail = "Simulated: a rule says so."
		}
		p := problem.New(o.Code, detail)
		p.Title = cmp.Or(p.Title, "Simulated")
		c.Set(problemKey, p)
		contentType, body = openapi.ProblemType, httpx.Marshal(p)
	}
	for name, value := range o.Headers {
		header.Set(name, value)
	}
	if set := header.Get("Content-Type"); set != "" {
		contentType = set
	}
	c.Abort()
	switch o.Code {
	case http.StatusNoContent, http.StatusResetContent, http.StatusNotModified:
		c.Status(o.Code)
	default:
		s.send(c, o.Code, contentType, body)
	}
}
