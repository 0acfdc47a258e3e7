package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"pickup/internal/database"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// An announcement is what a start tells the person who started it.
type announcement struct {
	file    string
	url     string // the base URL with the real port, without a slash at the end
	snap    *database.Snapshot
	notices []remark // what is worth knowing
	who     credentials
	noAuth  noAuth
	private bool // only this machine reaches the address
	tls     transport
	anyPage bool // pages of any origin may use the service
}

// A remark is a sentence of an announcement: with its label in a text, with its
// level in a log.
type remark struct {
	label string // "", "Note: " or "WARNING: "
	level slog.Level
	text  string
}

// note returns a remark that is good to know.
func note(format string, args ...any) remark {
	return remark{"Note: ", slog.LevelInfo, fmt.Sprintf(format, args...)}
}

// caution returns a remark about what is not as it should be.
func caution(format string, args ...any) remark {
	return remark{"Note: ", slog.LevelWarn, fmt.Sprintf(format, args...)}
}

// tell tells the announcement: to w as text, or to a log of JSON as records,
// whatever its level, because one of them may have the password.
func (a announcement) tell(w io.Writer, log *slog.Logger, json bool) {
	if !json {
		io.WriteString(w, a.String()) // who cannot be told has nowhere to hear so
		return
	}
	record := func(level slog.Level, text string, args ...any) {
		r := slog.NewRecord(time.Now(), level, text, 0)
		r.Add(args...)
		log.Handler().Handle(context.Background(), r)
	}
	var collections []any
	for _, name := range a.snap.Names() {
		if kind, _ := a.snap.Kind(name); kind == storage.Array {
			collections = append(collections, slog.Int(name, a.snap.Len(name)))
		}
	}
	record(slog.LevelInfo, "serving", "version", versionText(), "file", a.file, "url", a.url, slog.Group("records", collections...))
	for _, n := range a.notices {
		record(n.level, n.text)
	}
	if a.who.generated {
		record(slog.LevelWarn, "no password is set, so this start made one; to keep one of your own, set PICKUP_PASSWORD (and PICKUP_USER)",
			"user", a.who.user, "password", a.who.password)
	}
	for _, r := range a.access() {
		record(r.level, r.text)
	}
}

// access returns who may use the service, and what is risky about that.
func (a announcement) access() (all []remark) {
	plain := func(format string, args ...any) {
		all = append(all, remark{"", slog.LevelInfo, fmt.Sprintf(format, args...)})
	}
	warning := func(text string) { all = append(all, remark{"WARNING: ", slog.LevelWarn, text}) }
	switch {
	case a.noAuth == noAuthPublic:
		warning("anybody who reaches this address can read and change the file: --no-auth=public asks for no credentials.")
	case a.noAuth == noAuthLocal:
		plain("Nobody is asked for credentials (--no-auth); only this machine reaches the address.")
	case a.who.generated: // told with the password
	case a.who.file != "":
		plain("Clients need the password of one of the users in %s.", a.who.file)
		if exposed(a.who.file) {
			all = append(all, caution("everybody on this machine can read the hashes in %s: chmod o-r keeps them from it.", a.who.file))
		}
	default:
		plain("Clients need the password of the user %s.", printed(a.who.user))
	}
	if a.noAuth != authNeeded && a.anyPage {
		warning("every page that a browser here shows can read and change the file: --cors-origin=* lets it, and nobody is asked for credentials.")
	}
	if a.noAuth == authNeeded && !a.private && !a.tls.secure() {
		all = append(all, caution("passwords cross the network unencrypted, unless a proxy in front speaks TLS."))
	}
	return all
}

// String returns the announcement as text of several lines.
func (a announcement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pickup %s serves %s at %s\n", versionText(), a.file, a.url)
	first := ""
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, name := range a.snap.Names() {
		switch kind, _ := a.snap.Kind(name); kind {
		case storage.Array:
			fmt.Fprintf(t, "  %s\t%s%s\n", printed(name), spell.Count(a.snap.Len(name), "record"), unreached(name))
			if first == "" && name != "_" && plainName.MatchString(name) {
				first = name
			}
		case storage.Object:
			fmt.Fprintf(t, "  %s\tone object%s\n", printed(name), unreached(name))
		}
	}
	t.Flush() // into a strings.Builder, which takes everything
	for _, n := range a.notices {
		fmt.Fprintf(&b, "%s%s\n", n.label, n.text)
	}
	if a.who.generated {
		insecure := ""
		if a.tls.TLSSelfSigned {
			insecure = " --insecure"
		}
		fmt.Fprintf(&b, "No password is set, so this start made one. Try:\n  curl -u %s:%s%s %s/%s\n", shellWord(a.who.user), a.who.password, insecure, a.url, first)
		b.WriteString("To keep one of your own, set PICKUP_PASSWORD (and PICKUP_USER).\n")
	}
	for _, r := range a.access() {
		fmt.Fprintf(&b, "%s%s\n", r.label, r.text)
	}
	return b.String()
}

// unreached says of a top-level member that no address reaches it, where that
// is so.
func unreached(name string) string {
	switch name {
	case "":
		return ", without an address: / is the index"
	case "_":
		return ", without an address: /_/ is the service's own"
	}
	return ""
}

// plainName matches what stands in a URL and on a command line as it is.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// shellWord returns s as one word of a POSIX shell.
func shellWord(s string) string {
	if plainName.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// printed returns a name as it is where a terminal shows it so, quoted
// otherwise: a name in a file must not move the cursor.
func printed(name string) string {
	if name == "" || !printable(name) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// baseURL returns the URL under which a server at addr, asked to listen on
// host, is found from this machine.
func baseURL(scheme, host string, addr net.Addr) string {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return scheme + "://" + addr.String()
	}
	return scheme + "://" + net.JoinHostPort(reachable(host), port)
}
