package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/internal/rewrite"
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
	pageHeader      = "Pickup-Page" // a request of the service's own page

	defaultMaxDelay = time.Minute
	maxWaiting      = 1024 // requests
)

// A simulation is the state of a Simulation in use.
type simulation struct {
	rules   simulate.Rules // set at run time, outside of sessions
	holds   holds
	waiting atomic.Int32
}

// simulations are the preferences by which a request asks for a simulation. A
// parameter with _ before the name has the same effect, for clients that cannot
// send headers.
var simulations = []string{"delay", "code", "fault", "hold"}

// twinPrefixes are what such parameters begin with.
var twinPrefixes = []string{"_delay=", "_code=", "_fault=", "_hold="}

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

// takeTwins takes the parameters for a simulation out of the query of a URL, where
// they would be filters. It returns nil if there are none.
func takeTwins(u *url.URL) map[string]string {
	if u.RawQuery == "" || !slices.ContainsFunc(twinPrefixes, func(prefix string) bool { return strings.Contains(u.RawQuery, prefix) }) {
		return nil
	}
	var twins map[string]string
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
		if twins == nil {
			twins = make(map[string]string)
		}
		if _, again := twins[name]; !again {
			twins[name] = value
		}
		return true
	}), "&")
	return twins
}

// sessionOf returns the session that a request names, "" without one.
func sessionOf(r *http.Request) string {
	if p := placeOf(r); p != nil && p.session != "" {
		return p.session
	}
	if names := r.Header[sessionHeader]; len(names) == 1 {
		return names[0]
	}
	return ""
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

// isForeign reports whether a page of a site that is not allowed sends the request.
// It could otherwise occupy the server, even if it cannot read the answers.
func (s *server) isForeign(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") != "cross-site" {
		return false
	}
	return s.trust(r.Header.Get("Origin")) == untrusted
}

// preferredEffect returns what the request prefers. A preference that is unknown or
// impossible is ignored, and refused with handling=strict. A delay that is too long
// is always refused.
func (s *server) preferredEffect(c *gin.Context, twins map[string]string) (e simulate.Effect, err error) {
	strict := hasPreference(c, preferStrict)
	for _, name := range simulations {
		value, found := preferenceOf(c, name)
		parameter := ""
		if !found {
			parameter = "_" + name
			if value, found = twins[name]; !found {
				continue
			}
		}
		wrong := s.setPart(&e, name, value)
		switch {
		case wrong == nil:
			c.Writer.Header().Add("Preference-Applied", name+"="+value)
		case !strict && !errors.Is(wrong, errTooLong):
		case parameter != "":
			return e, badParameter(parameter, wrong.Error())
		default:
			return e, newProblem(http.StatusBadRequest, sentence("Prefer: "+name+": "+wrong.Error()))
		}
	}
	return e, nil
}

var errTooLong = errors.New("too long")

// setPart sets the part of an effect that a preference means, or returns what is
// wrong with it.
func (s *server) setPart(e *simulate.Effect, name, value string) error {
	switch name {
	case "delay":
		delay, err := simulate.ParseRange(value)
		if err != nil {
			return err
		}
		if delay.Max > s.Simulate.MaxDelay {
			return fmt.Errorf("%s is %w: a delay is at most %v (--max-delay)", delay, errTooLong, s.Simulate.MaxDelay)
		}
		e.Delay = &delay
	case "code":
		code, err := strconv.Atoi(value)
		if err != nil || code < 400 || code > 599 {
			return fmt.Errorf("it is a status from 400 to 599, and not %q", clip(value))
		}
		e.Code = code
	case "fault":
		fault, err := simulate.ParseFault(value)
		if err == nil && e.Code != 0 {
			err = errors.New("a request has a code or a fault, but not both")
		}
		if err != nil {
			return err
		}
		e.Fault = fault
	case "hold":
		if !simulate.IsName(value) {
			return errors.New("the name of a hold has 1 to 64 of A-Z a-z 0-9 . _ -")
		}
		e.Hold = value
	}
	return nil
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
		detail := "Simulated: the request preferred it."
		if o.Rule {
			detail = "Simulated: a rule says so."
		}
		p := newProblem(o.Code, detail)
		p.Title = cmp.Or(p.Title, "Simulated")
		c.Set(problemKey, p)
		contentType, body = openapi.ProblemType, marshal(p)
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

// cut ends the connection without an answer, or without the rest of it. With reset
// the client gets a TCP reset if the protocol is HTTP/1; on HTTP/2 the stream is
// reset in any case.
func cut(c *gin.Context, reset bool) {
	if h, ok := below(c.Writer).(http.Hijacker); ok && reset {
		if conn, _, err := h.Hijack(); err == nil {
			lower := conn
			if t, ok := conn.(*tls.Conn); ok {
				lower = t.NetConn()
			}
			if t, ok := lower.(*net.TCPConn); ok {
				_ = t.SetLinger(0) // or else it is closed as usual
			}
			lower.Close() // nobody is left to tell
		}
	}
	panic(http.ErrAbortHandler)
}

// below returns the writer that Gin wraps.
func below(w http.ResponseWriter) http.ResponseWriter {
	if u, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		return u.Unwrap()
	}
	return w
}

// A lostWriter discards an answer. Of a stream it sends what comes first, and then
// fails, so that the stream ends in the middle.
type lostWriter struct {
	gin.ResponseWriter
	begun bool // what comes first of a stream has been sent
}

var errLost = errors.New("the answer is lost")

func (w *lostWriter) Write(b []byte) (int, error) {
	switch {
	case w.Header().Get("Content-Type") != streamType:
		return len(b), nil
	case w.begun:
		return 0, errLost
	}
	return w.ResponseWriter.Write(b)
}

func (w *lostWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

func (w *lostWriter) WriteHeaderNow() {}

// FlushError is for http.ResponseController, as are the following methods.
func (w *lostWriter) FlushError() error {
	w.begun = true
	return w.control().Flush()
}

func (w *lostWriter) SetReadDeadline(t time.Time) error  { return w.control().SetReadDeadline(t) }
func (w *lostWriter) SetWriteDeadline(t time.Time) error { return w.control().SetWriteDeadline(t) }

func (w *lostWriter) control() *http.ResponseController {
	return http.NewResponseController(below(w.ResponseWriter))
}

// wait waits for the given time, or until done is closed. It returns an error if the
// client goes, the session ends, the server stops, or too many requests wait. x is
// nil outside of sessions. The time of the request begins again afterwards.
func (s *server) wait(c *gin.Context, d time.Duration, done <-chan struct{}, x *session) error {
	if s.simulation.waiting.Add(1) > maxWaiting {
		s.simulation.waiting.Add(-1)
		return retry(http.StatusServiceUnavailable, "Too many requests are delayed or held. Nothing was changed.")
	}
	defer s.simulation.waiting.Add(-1)
	var ended <-chan struct{}
	if x != nil {
		ended = x.ended
		s.sessions.mu.Lock()
		x.holdLocked()
		s.sessions.mu.Unlock()
		defer s.leave(x)
	}
	readAhead(c.Request)
	control := http.NewResponseController(below(c.Writer))
	_ = control.SetReadDeadline(time.Time{}) // tests have writers without
	_ = control.SetWriteDeadline(time.Time{})
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-done:
	case <-c.Request.Context().Done():
		return context.Cause(c.Request.Context())
	case <-ended:
		return sessionEnded()
	case <-s.Stop:
		return retry(http.StatusServiceUnavailable, "The server is stopping. Nothing was changed.")
	}
	if server, ok := c.Request.Context().Value(http.ServerContextKey).(*http.Server); ok {
		if server.ReadTimeout > 0 {
			_ = control.SetReadDeadline(time.Now().Add(server.ReadTimeout))
		}
		if server.WriteTimeout > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(server.WriteTimeout))
		}
	}
	return nil
}

// readAhead reads a small body into memory. Only when a body has been read to its end
// does net/http notice that the client goes.
func readAhead(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength > freeOfBudget {
		return
	}
	text, _ := io.ReadAll(io.LimitReader(r.Body, freeOfBudget)) // what follows has the error
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
}
