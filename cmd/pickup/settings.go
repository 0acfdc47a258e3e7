package main

import (
	"cmp"
	"net/url"
	"os"
	"strings"

	"pickup/internal/database"
	"pickup/internal/schema"
)

// settings are the settings of a service. A flag overrides its variable, and that
// overrides the configuration file.
type settings struct {
	address       `group:"address"`
	transport     `group:"address"`
	routing       `group:"paths"`
	Htpasswd      string   `group:"access" variable:"PICKUP_HTPASSWD" placeholder:"FILE" help:"Read users from this file, with a line name:hash for each, as pickup passwd prints it; reloaded when it changes ($PICKUP_HTPASSWD)."`
	NoAuth        noAuth   `group:"access" variable:"PICKUP_NO_AUTH" help:"Require no credentials; only on a loopback address, unless it is --no-auth=public ($PICKUP_NO_AUTH)."`
	ReadOnly      bool     `group:"file" aliases:"ro,readOnly" xor:"writes" variable:"PICKUP_READ_ONLY" help:"Refuse writes."`
	Ephemeral     bool     `group:"file" xor:"writes" variable:"PICKUP_EPHEMERAL" help:"Keep writes in memory and do not change the file."`
	CORSOrigin    []string `group:"access" name:"cors-origin" sep:"none" variable:"PICKUP_CORS_ORIGIN" placeholder:"ORIGIN" help:"Allow pages of this origin, besides loopback origins, to use the service; * allows any. Repeatable."`
	AllowHost     []string `group:"access" sep:"none" variable:"PICKUP_ALLOW_HOST" placeholder:"NAME" help:"Accept this name in the Host header, besides localhost and --host. Repeatable."`
	Requests      string   `group:"logs" enum:"auto,on,off" default:"auto" variable:"PICKUP_REQUESTS" placeholder:"on|off" help:"Keep the latest requests and their bodies in memory and show them to users (on for a loopback address, else off); never with --no-auth=public."`
	JournalDir    string   `group:"file" variable:"PICKUP_JOURNAL_DIR" placeholder:"DIR" help:"Keep the journal of a file that is mounted by itself in this directory."`
	AccessLog     string   `group:"logs" enum:"on,off" default:"on" variable:"PICKUP_ACCESS_LOG" placeholder:"on|off" help:"Log each request (${default})."`
	LogLevel      string   `group:"logs" enum:"debug,info,warn,error" default:"info" variable:"PICKUP_LOG_LEVEL" placeholder:"LEVEL" help:"Log this level and above: debug, info, warn or error (${default})."`
	LogFormat     string   `group:"logs" enum:"auto,text,json" default:"auto" variable:"PICKUP_LOG_FORMAT" placeholder:"FORMAT" help:"Log as text, json, or auto: short lines on a terminal, JSON elsewhere (${default})."`
	NoCompression bool     `group:"paths" aliases:"no-gzip,ng,noGzip" variable:"PICKUP_NO_COMPRESSION" help:"Do not compress answers."`
	NoPage        bool     `group:"paths" variable:"PICKUP_NO_PAGE" help:"Serve no page at /_/, only the API."`
	Pprof         string   `group:"logs" variable:"PICKUP_PPROF" placeholder:"ADDRESS:PORT" help:"Serve profiles at /debug/pprof/ on a separate loopback address."`
	Quiet         bool     `group:"logs" short:"q" variable:"PICKUP_QUIET" help:"Print warnings and errors only."`
	clusterAccess
	clusterReads
	simulation `group:"simulation"`
	repetition `group:"repetition"`
	limits     `group:"limits"`
	unneeded   `group:"json-server"`
}

// check returns an error if settings contradict each other, and for mistakes that
// would show late and far from their cause.
func (s *settings) check() error {
	for _, o := range s.CORSOrigin {
		if !isOrigin(o) {
			return usagef("--cors-origin: %q is not an origin as browsers send it: scheme://host, with :port unless it is the default, such as https://app.example, or * for any", o)
		}
	}
	for _, name := range s.AllowHost {
		if strings.Contains(name, "/") {
			return usagef("--allow-host: %q is not a host name: leave out the scheme and the path, as in app.example", name)
		}
	}
	if s.Pprof != "" {
		if err := checkProfiles(s.Pprof); err != nil {
			return err
		}
	}
	if s.JournalDir != "" {
		if info, err := os.Stat(s.JournalDir); err != nil {
			return usagef("--journal-dir: %w", err)
		} else if !info.IsDir() {
			return usagef("--journal-dir: %s is not a directory", s.JournalDir)
		}
	}
	if s.Requests == "on" && s.NoAuth == noAuthPublic {
		return usagef("--requests=on cannot be used with --no-auth=public: everyone could see the requests of others")
	}
	return cmp.Or(s.simulation.check(), s.repetition.check(s.NoAuth == noAuthPublic), s.routing.check(), s.transport.check())
}

// isOrigin reports whether s is "*" or a serialized origin (RFC 6454, section 6.2),
// with or without a trailing slash. Patterns and default ports are rejected,
// because they would equal no Origin header.
func isOrigin(s string) bool {
	if s == "*" {
		return true
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || strings.Contains(u.Host, "*") || u.Path != "" && u.Path != "/" {
		return false
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return false
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return u.Scheme != "" && bare.String() == s
}

// words returns the space-separated values of a variable.
func words(text string) []any {
	var all []any
	for _, w := range strings.Fields(text) {
		all = append(all, w)
	}
	return all
}

// An idConvention says how records are identified if the schema does not say so.
type idConvention struct {
	IDs     string `group:"ids" name:"ids" enum:"auto,number,uuid,short" default:"auto" variable:"PICKUP_IDS" placeholder:"KIND" help:"Generate ids of this kind unless the schema has x-id: auto, number, uuid or short ($PICKUP_IDS; ${default})."`
	FKS     string `group:"ids" name:"fks" aliases:"foreign-key-suffix,foreignKeySuffix" default:"Id" variable:"PICKUP_FKS" placeholder:"SUFFIX" help:"Members that refer to records are called by the singular of the collection and this suffix, unless the schema has x-ref ($PICKUP_FKS; ${default})."`
	IDField string `group:"ids" name:"id-field" short:"i" aliases:"id" default:"id" variable:"PICKUP_ID_FIELD" placeholder:"NAME" help:"Use this member as the id unless the schema has x-id-field ($PICKUP_ID_FIELD; ${default})."`
}

// options returns the options of a database with rules.
func (c idConvention) options(rules *schema.Schema) database.Options {
	return database.Options{Schema: rules, IDs: schema.IDKind(c.IDs), IDMember: c.IDField, KeySuffix: c.FKS}
}
