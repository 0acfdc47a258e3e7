package main

import (
	"net/url"
	"os"
	"strings"
)

// Settings are everything that can be said about a service, each by a flag, by
// a variable and in the configuration file, in this order of strength.
type settings struct {
	address
	transport
	limits
	Htpasswd   string   `variable:"PICKUP_HTPASSWD" placeholder:"FILE" help:"Who may use the service: a line name:hash for each user, as pickup passwd prints it; re-read when it changes ($PICKUP_HTPASSWD)."`
	NoAuth     noAuth   `variable:"PICKUP_NO_AUTH" help:"Ask nobody for credentials: on a loopback address only, unless it says --no-auth=public ($PICKUP_NO_AUTH)."`
	ReadOnly   bool     `xor:"writes" variable:"PICKUP_READ_ONLY" help:"Refuse writes."`
	Ephemeral  bool     `xor:"writes" variable:"PICKUP_EPHEMERAL" help:"Keep writes in memory and leave the file alone."`
	CORSOrigin []string `name:"cors-origin" sep:"none" variable:"PICKUP_CORS_ORIGIN" placeholder:"ORIGIN" help:"Let pages of one more origin than the loopback ones use the service; * for any. Repeatable."`
	AllowHost  []string `sep:"none" variable:"PICKUP_ALLOW_HOST" placeholder:"NAME" help:"Answer to one more Host name than localhost and the bound one. Repeatable."`
	JournalDir string   `variable:"PICKUP_JOURNAL_DIR" placeholder:"DIR" help:"Where the redo record of a mounted single file lives."`
	AccessLog  string   `enum:"on,off" default:"on" variable:"PICKUP_ACCESS_LOG" placeholder:"on|off" help:"Log one line for each request (${default})."`
	LogLevel   string   `enum:"debug,info,warn,error" default:"info" variable:"PICKUP_LOG_LEVEL" placeholder:"LEVEL" help:"Log what is of this level or above: debug, info, warn or error (${default})."`
	LogFormat  string   `enum:"auto,text,json" default:"auto" variable:"PICKUP_LOG_FORMAT" placeholder:"FORMAT" help:"text, json, or auto: text on a terminal, JSON elsewhere (${default})."`
	Pprof      string   `variable:"PICKUP_PPROF" placeholder:"ADDRESS:PORT" help:"Serve profiles of the program at /debug/pprof/ of a port of its own, on a loopback address only."`
	Watch      bool     `short:"w" help:"Accepted for json-server's users: watching is always on."`
}

// check returns an error where settings contradict each other.
func (s *settings) check() error {
	if err := checkPlaces(s.CORSOrigin, s.JournalDir); err != nil {
		return err
	}
	if err := s.limits.check(); err != nil {
		return err
	}
	return s.transport.check()
}

// checkPlaces looks at what --cors-origin and --journal-dir name. A slip in
// one of them would show late, and far from its cause.
func checkPlaces(origins []string, journal string) error {
	for _, o := range origins {
		if !isOrigin(o) {
			return usagef("--cors-origin: %q is not an origin as browsers send it: scheme://host, with :port unless it is the default, such as https://app.example, or * for any", o)
		}
	}
	if journal == "" {
		return nil
	}
	info, err := os.Stat(journal)
	if err != nil {
		return usagef("--journal-dir: %w", err)
	}
	if !info.IsDir() {
		return usagef("--journal-dir: %s is not a directory", journal)
	}
	return nil
}

// isOrigin reports whether s names the origin of pages (RFC 6454, section 6.2),
// with or without a slash behind it, or all of them. A pattern or a default
// port would pass for one and equal no Origin header.
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

// words returns the values in a variable that has several, with spaces between.
func words(text string) []any {
	var all []any
	for _, w := range strings.Fields(text) {
		all = append(all, w)
	}
	return all
}
