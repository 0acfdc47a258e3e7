package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A notice is a sentence that the user should know at the start.
type notice struct {
	label string // before the text on a terminal
	level slog.Level
	text  string
}

// note returns a notice of something that is as it should be.
func note(format string, args ...any) notice {
	return notice{"Note", slog.LevelInfo, fmt.Sprintf(format, args...)}
}

// warning returns a notice of something that is not as it should be.
func warning(format string, args ...any) notice {
	return notice{"Note", slog.LevelWarn, fmt.Sprintf(format, args...)}
}

// printBanner prints what is served, where and for whom. In a log of JSON it
// writes records of any level, because one of them may have the password.
func (s *service) printBanner(ctx context.Context) error {
	s.addNotices()
	if s.Quiet {
		s.notices = slices.DeleteFunc(s.notices, func(n notice) bool { return n.level < slog.LevelWarn })
	}
	s.shown = true
	if s.LogFormat != "json" {
		io.WriteString(s.env.stderr, s.banner()) // there is nowhere to report its error
		return nil
	}
	log := func(level slog.Level, text string, args ...any) {
		r := slog.NewRecord(time.Now(), level, text, 0)
		r.Add(args...)
		s.log.Handler().Handle(ctx, r)
	}
	snap := s.db.Snapshot()
	var counts []any
	for _, name := range snap.Names() {
		if kind, _ := snap.Kind(name); kind == storage.Array {
			counts = append(counts, slog.Int(name, snap.Len(name)))
		}
	}
	if !s.Quiet {
		log(slog.LevelInfo, "serving", "version", versionText(), "file", s.file, "url", s.url(), slog.Group("records", counts...))
	}
	if s.users.generated {
		log(slog.LevelWarn, "generated a password for this run; set PICKUP_PASSWORD (and PICKUP_USER) to use your own",
			"user", s.users.user, "password", s.users.password)
	}
	for _, n := range s.notices {
		log(n.level, n.text)
	}
	return nil
}

// banner returns the banner as text of several lines.
func (s *service) banner() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pickup %s serves %s at %s\n", versionText(), s.file, s.url())
	first := "" // the collection of the example
	snap, t := s.db.Snapshot(), tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, name := range snap.Names() {
		switch kind, _ := snap.Kind(name); kind {
		case storage.Array:
			fmt.Fprintf(t, "  %s\t%s%s\n", printed(name), spell.Count(snap.Len(name), "record"), unreachable[name])
			if first == "" && name != "_" && plainName.MatchString(name) {
				first = name
			}
		case storage.Object:
			fmt.Fprintf(t, "  %s\tone object%s\n", printed(name), unreachable[name])
		}
	}
	t.Flush() // a strings.Builder returns no error
	if s.Quiet {
		b.Reset()
	}
	for _, n := range s.notices {
		fmt.Fprintf(&b, "%s: %s\n", n.label, n.text)
	}
	if s.users.generated {
		insecure := ""
		if s.TLSSelfSigned {
			insecure = " --insecure"
		}
		fmt.Fprintf(&b, "No password is set, so one was generated for this run. Try:\n  curl -u %s:%s%s %s/%s\n",
			shellWord(s.users.user), s.users.password, insecure, s.url()+s.Prefix, first)
		b.WriteString("To use your own, set PICKUP_PASSWORD (and PICKUP_USER).\n")
	}
	return b.String()
}

// addNotices adds notices about the handling of writes, about the users and about
// risks.
func (s *service) addNotices() {
	add := func(n notice) { s.notices = append(s.notices, n) }
	danger := func(text string) { add(notice{"WARNING", slog.LevelWarn, text}) }
	if s.Prefix != "" {
		add(note("the API is below %s (--prefix).", s.Prefix))
	}
	for _, n := range append(s.staticNotices(), s.unneeded.notices()...) {
		add(n)
	}
	switch {
	case s.ReadOnly:
		add(note("writes are refused (--read-only)."))
	case s.Ephemeral:
		add(note("writes stay in memory (--ephemeral)."))
	}
	switch {
	case s.NoAuth == noAuthPublic:
		danger("anyone who can reach this address can read and change the file (--no-auth=public).")
	case s.NoAuth == noAuthLocal:
		add(note("no credentials are required (--no-auth), but only this machine can reach the address."))
	case s.users.generated: // printed with the password
	case s.Htpasswd != "":
		add(note("clients need the password of a user in %s.", s.Htpasswd))
		if info, err := os.Stat(s.Htpasswd); err == nil && info.Mode().Perm()&0o004 != 0 && os.PathSeparator == '/' {
			add(warning("every user of this machine can read the hashes in %s; chmod o-r prevents that.", s.Htpasswd))
		}
	default:
		add(note("clients need the password of the user %s.", printed(s.users.user)))
	}
	if s.NoAuth != authNeeded && slices.Contains(s.CORSOrigin, "*") {
		danger("every page that a browser on this machine opens can read and change the file (--cors-origin=* without credentials).")
	}
	if s.NoAuth == authNeeded && !s.loopback && !s.secure() {
		add(warning("passwords cross the network unencrypted, unless a proxy in front adds TLS."))
	}
}

// unreachable says of top-level members why they have no URL.
var unreachable = map[string]string{
	"":  ", without a URL: / is the index",
	"_": ", without a URL: /_/ is reserved",
}

// url returns the base URL of the service as this machine reaches it.
func (s *service) url() string {
	port := s.listener.Addr().(*net.TCPAddr).Port
	return s.scheme() + "://" + net.JoinHostPort(reachable(s.Host), strconv.Itoa(port))
}

// plainName matches names that need no escape in a URL or on a command line.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// shellWord returns s as one word of a POSIX shell.
func shellWord(s string) string {
	if plainName.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// printed returns a name for a terminal. It quotes control characters, so that a
// name in a file cannot move the cursor.
func printed(name string) string {
	if name == "" || !printable(name) {
		return fmt.Sprintf("%q", name)
	}
	return name
}
