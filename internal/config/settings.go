// Package config has the settings of a server: their flags, variables and names in a
// configuration file, the rules that they follow, and the files that they name.
//
// [Server] is everything that serve accepts. A new flag becomes a field of [Settings], or of
// the struct in the file of its subject, such as limits.go or tls.go. [Sources] finds the
// value of a flag that is not on the command line, and [File] is a pickup.toml or pickup.json.
package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"pickup/internal/database"
	"pickup/internal/schema"
)

// A Server has the arguments of serve and config: the database and the settings.
type Server struct {
	FileArgument
	Settings
	IDConvention
}

// A FileArgument is the FILE of a command.
type FileArgument struct {
	File string `arg:"" optional:"" help:"The JSON file to use, or a database in etcd, as in etcd://10.0.0.1:2379,10.0.0.2:2379/family ($PICKUP_DB; db.json)."`
}

// Settings are the settings of a service. A flag overrides the variable of the flag, and a
// variable overrides the configuration file.
type Settings struct {
	Address       `group:"address"`
	Transport     `group:"address"`
	Routing       `group:"paths"`
	Answers       `group:"paths"`
	Htpasswd      string   `group:"access" variable:"PICKUP_HTPASSWD" placeholder:"FILE" help:"Read users from this file, with a line name:hash for each, as pickup passwd prints it; reloaded when it changes."`
	NoAuth        NoAuth   `group:"access" variable:"PICKUP_NO_AUTH" help:"Require no credentials; only on a loopback address, unless it is --no-auth=public."`
	ReadOnly      bool     `group:"file" aliases:"ro,readOnly" xor:"writes" variable:"PICKUP_READ_ONLY" help:"Refuse writes."`
	Ephemeral     bool     `group:"file" xor:"writes" variable:"PICKUP_EPHEMERAL" help:"Keep writes in memory and do not change the file."`
	CORSOrigin    []string `group:"access" name:"cors-origin" sep:"none" variable:"PICKUP_CORS_ORIGIN" placeholder:"ORIGIN" help:"Allow pages from this origin to use the service, besides loopback origins; * allows any. Repeatable."`
	AllowHost     []string `group:"access" sep:"none" variable:"PICKUP_ALLOW_HOST" placeholder:"NAME" help:"Accept this name in the Host header, besides localhost and --host. Repeatable."`
	Requests      string   `group:"logs" enum:"auto,on,off" default:"auto" variable:"PICKUP_REQUESTS" placeholder:"on|off" help:"Keep the latest requests and their bodies in memory and show them to users (on for a loopback address, otherwise off); never with --no-auth=public."`
	AccessLog     string   `group:"logs" enum:"on,off" default:"on" variable:"PICKUP_ACCESS_LOG" placeholder:"on|off" help:"Log each request (${default})."`
	LogLevel      string   `group:"logs" enum:"debug,info,warn,error" default:"info" variable:"PICKUP_LOG_LEVEL" placeholder:"LEVEL" help:"Log this level and above: debug, info, warn or error (${default})."`
	LogFormat     string   `group:"logs" enum:"auto,short,text,json" default:"auto" variable:"PICKUP_LOG_FORMAT" placeholder:"FORMAT" help:"Log as short lines, text (logfmt), json, or auto: short on a terminal and on loopback addresses, otherwise JSON (${default})."`
	NoCompression bool     `group:"paths" aliases:"no-gzip,ng,noGzip" variable:"PICKUP_NO_COMPRESSION" help:"Do not compress responses."`
	NoPage        bool     `group:"paths" variable:"PICKUP_NO_PAGE" help:"Serve no page at /_/, only the API."`
	Quiet         bool     `group:"logs" short:"q" variable:"PICKUP_QUIET" help:"Print warnings and errors only."`
	ClusterAccess
	ClusterReads
	Simulation `group:"simulation"`
	Repetition `group:"repetition"`
	Limits     `group:"limits"`
	Unneeded   `group:"json-server"`
}

// Check returns an error if settings contradict each other, and for mistakes with late
// consequences far from the cause.
func (s *Settings) Check() error {
	for _, o := range s.CORSOrigin {
		if !isOrigin(o) {
			return Usagef("--cors-origin: %q is not an origin as browsers send it: scheme://host, "+
				"with :port unless it is the default, such as https://app.example, or * for any", o)
		}
	}
	for _, name := range s.AllowHost {
		if strings.Contains(name, "/") {
			return Usagef("--allow-host: %q is not a host name: "+
				"leave out the scheme and the path, as in app.example", name)
		}
	}
	switch public := s.NoAuth == NoAuthPublic; {
	case public && s.Requests == "on":
		return Usagef("--requests=on cannot be used with --no-auth=public: anyone could see the requests of others")
	case public && s.Seed != nil:
		return Usagef("--seed cannot be used with --no-auth=public: others could predict new ids")
	case public && !s.Now.IsZero():
		return Usagef("--now cannot be used with --no-auth=public: others would think that its times are real")
	case s.Delay.Max > s.MaxDelay:
		return Usagef("--delay: %s is longer than --max-delay, which is %v", s.Delay, s.MaxDelay)
	}
	_, err := s.Answers.Form()
	return cmp.Or(err, s.Routing.check())
}

// origin matches "*" and serialized origins (RFC 6454, section 6.2), with or without a
// trailing slash.
var origin = regexp.MustCompile(`^(\*|[a-z][a-z0-9+.-]*://([^][/?#@*:\s]+|\[[0-9a-f:.]+\])(:\d+)?/?)$`)

// defaultPort matches origins with a default port, which browsers leave out of the Origin
// header.
var defaultPort = regexp.MustCompile(`^(http://.*:80|https://.*:443)/?$`)

func isOrigin(s string) bool { return origin.MatchString(s) && !defaultPort.MatchString(s) }

// An IDConvention says how records are identified if the schema does not say so.
type IDConvention struct {
	IDs     string `group:"ids" name:"ids" enum:"auto,number,uuid,short" default:"auto" variable:"PICKUP_IDS" placeholder:"KIND" help:"Generate ids of this kind unless the schema has x-id: auto, number, uuid or short (${default})."`
	FKS     string `group:"ids" name:"fks" aliases:"foreign-key-suffix,foreignKeySuffix" default:"Id" variable:"PICKUP_FKS" placeholder:"SUFFIX" help:"Fields that refer to records are named by the singular of the collection and this suffix, unless the schema has x-ref (${default})."`
	IDField string `group:"ids" name:"id-field" short:"i" aliases:"id" default:"id" variable:"PICKUP_ID_FIELD" placeholder:"NAME" help:"Use this field as the id unless the schema has x-id-field (${default})."`
}

// Options returns the options of a database with rules.
func (c IDConvention) Options(rules *schema.Schema) database.Options {
	return database.Options{Schema: rules, IDs: schema.IDKind(c.IDs), IDMember: c.IDField, KeySuffix: c.FKS}
}

// Repetition is the settings for the same results after each start, for screenshots and
// recorded tests.
type Repetition struct {
	Seed *uint64 `variable:"PICKUP_SEED" placeholder:"N" help:"Make new ids, and the randomness of simulated responses, the same at each startup."`
	Now  Instant `variable:"PICKUP_NOW" placeholder:"TIME" help:"Set the clock to this time at each startup, such as 2026-01-31T12:00:00Z: for x-now, UUIDs and the history."`
}

// An Instant is a time in the form of RFC 3339, or a date. The zero value means no time.
type Instant struct{ time.Time }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *Instant) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		return nil // as in the output of config
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if i.Time, err = time.Parse(layout, string(text)); err == nil {
			break
		}
	}
	year := i.UTC().Year()
	if err != nil || year < 1970 || year > 9998 { // the clock runs on, and JSON has no year 10000
		return fmt.Errorf("%q is not a time such as 2026-01-31T12:00:00Z or a date, from 1970 to 9998", text)
	}
	return nil
}

func (i Instant) String() string {
	if i.IsZero() {
		return ""
	}
	return i.Format(time.RFC3339Nano)
}
