package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/simulate"
)

// simulations are the preferences by which a request asks for a simulation. A
// parameter with _ before the name has the same effect, for clients that cannot
// send headers.
var simulations = []string{"delay", "code", "fault", "hold"}

// twinPrefixes are what such parameters begin with.
var twinPrefixes = []string{"_delay=", "_code=", "_fault=", "_hold="}

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
			return e, problem.BadParameter(parameter, wrong.Error())
		default:
			return e, problem.New(http.StatusBadRequest, httpx.Sentence("Prefer: "+name+": "+wrong.Error()))
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
			return fmt.Errorf("it is a status from 400 to 599, and not %q", httpx.Clip(value))
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
