package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A notice is a sentence for the user at startup.
type notice struct {
	label string // before the text on a terminal
	level slog.Level
	text  string
}

// note adds a notice of the level info.
func (s *service) note(format string, args ...any) {
	s.addNotice(notice{"Note", slog.LevelInfo, fmt.Sprintf(format, args...)})
}

// warn adds a notice about a problem.
func (s *service) warn(format string, args ...any) {
	s.addNotice(notice{"Note", slog.LevelWarn, fmt.Sprintf(format, args...)})
}

// addNotice adds a notice, once.
func (s *service) addNotice(n notice) {
	if !slices.Contains(s.notices, n) {
		s.notices = append(s.notices, n)
	}
}

// printBanner prints the file, the addresses and the notices. A JSON log gets records of any
// level, because a record may have the password.
func (s *service) printBanner(ctx context.Context) error {
	s.addNotices()
	if s.Quiet {
		s.notices = slices.DeleteFunc(s.notices, func(n notice) bool { return n.level < slog.LevelWarn })
	}
	if s.LogFormat != "json" {
		io.WriteString(s.env.stderr, s.banner()) // nowhere to report an error
		return nil
	}
	log := func(level slog.Level, text string, args ...any) {
		r := slog.NewRecord(time.Now(), level, text, 0)
		r.Add(args...)
		s.log.Handler().Handle(ctx, r)
	}
	if !s.Quiet {
		log(slog.LevelInfo, "serving", "version", versionText(), "file", s.file, "url", s.url())
	}
	if s.users.Generated {
		text := "generated a password for this run; set PICKUP_PASSWORD (and PICKUP_USER) to use your own"
		log(slog.LevelWarn, text+s.insteadOfPassword(), "user", s.users.User, "password", s.users.Password)
	}
	for _, n := range s.notices {
		log(n.level, n.text)
	}
	return nil
}

// banner returns the banner as text of several lines.
func (s *service) banner() string {
	var b strings.Builder
	file := s.file
	if s.cluster != nil {
		file += fmt.Sprintf(" (revision %d)", s.db.Snapshot().Rev())
	}
	fmt.Fprintf(&b, "pickup %s serves %s at %s\n", versionText(), file, s.url())
	api, first := s.url()+s.Prefix+"/", "" // first is the collection of the example
	snap, t := s.db.Snapshot(), tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	empty := true
	for _, name := range snap.Names() {
		switch kind, _ := snap.Kind(name); {
		case name == "" || name == "_": // no URL
		case kind == storage.Array:
			fmt.Fprintf(t, "  %s\t%s\n", api+url.PathEscape(name), spell.Count(snap.Len(name), "record"))
			first = cmp.Or(first, url.PathEscape(name))
			empty = false
		case kind == storage.Object:
			fmt.Fprintf(t, "  %s\tone object\n", api+url.PathEscape(name))
			empty = false
		}
	}
	if empty && s.cluster == nil && !filestore.IsFolder(s.file) {
		fmt.Fprintf(t, "  nothing yet: add \"posts\": [] to the file; %s init example.json makes one with records\n", s.env.program())
	}
	if !s.NoPage {
		fmt.Fprintf(t, "  %s/_/\tthe page to view and edit the data\n", s.url())
	}
	fmt.Fprintf(t, "  %s/_/docs\tthe documentation of the API\n", s.url())
	t.Flush() // a strings.Builder returns no error
	if s.Quiet {
		b.Reset()
	}
	for _, n := range s.notices {
		fmt.Fprintf(&b, "%s: %s\n", n.label, n.text)
	}
	if s.users.Generated {
		insecure := ""
		if s.Secure() { // the certificate is not for this address
			insecure = " --insecure"
		}
		fmt.Fprintf(&b, "No password is set, so one was generated for this run. Try:\n  curl -u %s:%s%s %s\n",
			shellWord(s.users.User), s.users.Password, insecure, shellWord(api+first))
		fmt.Fprintf(&b, "To use your own, set PICKUP_PASSWORD (and PICKUP_USER)%s.\n", s.insteadOfPassword())
	}
	return b.String()
}

// insteadOfPassword returns the end of a sentence about passwords: how to start without a
// password, on a loopback address.
func (s *service) insteadOfPassword() string {
	if !s.loopback {
		return ""
	}
	return ", or start with --no-auth to use no password"
}

// addNotices adds notices about settings, writes, users and risks.
func (s *service) addNotices() {
	for _, dir := range s.Static {
		s.note("the files of %s are served (--static), except pickup's own.", dir)
	}
	for _, text := range s.Unneeded.Notes() {
		s.note("%s", text)
	}
	for _, u := range s.networkURLs() {
		s.note("other machines may be able to reach the service at %s; pages from there need --cors-origin.", u)
	}
	if s.ReadOnly {
		s.note("writes are refused (--read-only).")
	}
	if s.Ephemeral {
		s.note("writes stay in memory (--ephemeral).")
	}
	s.warnMisspelled(os.Environ())
	s.addAccessNotices()
}

// warnMisspelled warns about variables that nearly have the name of a setting.
func (s *service) warnMisspelled(variables []string) {
	known := []string{"CONFIG", "DB", "PASSWORD", "PASSWORD_FILE", "USER"}
	for _, flag := range s.env.parsed.Flags() {
		known = append(known, strings.TrimPrefix(flag.Tag.Get("variable"), "PICKUP_"))
	}
	for _, v := range variables {
		name, _, _ := strings.Cut(v, "=")
		name, ours := strings.CutPrefix(name, "PICKUP_")
		near := spell.Nearest(name, known)
		if ours && near != "" && !slices.Contains(known, name) {
			s.warn("there is no setting PICKUP_%s; did you mean PICKUP_%s?", name, near)
		}
	}
}

// addAccessNotices adds notices about users, passwords and risks.
func (s *service) addAccessNotices() {
	danger := func(text string) { s.addNotice(notice{"WARNING", slog.LevelWarn, text}) }
	switch {
	case s.NoAuth == config.NoAuthPublic:
		danger("anyone who can reach this address can read and change the file (--no-auth=public).")
	case s.NoAuth == config.NoAuthLocal:
		s.note("no credentials are required (--no-auth), but only this machine can reach the address.")
	case s.users.Generated: // printed with the password
	case s.Htpasswd != "":
		s.note("clients need the password of a user in %s.", s.Htpasswd)
		if info, err := os.Stat(s.Htpasswd); err == nil && info.Mode().Perm()&0o004 != 0 && os.PathSeparator == '/' {
			s.warn("every user of this machine can read the hashes in %s; chmod o-r prevents that.", s.Htpasswd)
		}
	default:
		s.note("clients need the password of the user %s.", spell.Printable(s.users.User))
	}
	if s.NoAuth != config.AuthNeeded && s.env.Getenv("PICKUP_PASSWORD")+s.env.Getenv("PICKUP_PASSWORD_FILE") != "" {
		s.warn("PICKUP_PASSWORD is ignored, because --no-auth turns passwords off.")
	}
	if s.NoAuth != config.AuthNeeded && slices.Contains(s.CORSOrigin, "*") {
		danger("every page that a browser on this machine opens can read and change the file " +
			"(--cors-origin=* without credentials).")
	}
	if s.NoAuth == config.AuthNeeded && !s.loopback && !s.Secure() {
		s.warn("passwords cross the network unencrypted, unless a proxy in front adds TLS.")
	}
}

// url returns the base URL of the service on this machine, "" before the service listens.
func (s *service) url() string {
	if config.IsLocalhost(s.Host) && len(s.listeners) == 1 { // for example without IPv6
		return s.urlAt(s.listeners[0].Addr().(*net.TCPAddr).IP.String())
	}
	return s.urlAt(config.Reachable(s.Host))
}

// urlAt returns the base URL of the service at a host.
func (s *service) urlAt(host string) string {
	if len(s.listeners) == 0 {
		return ""
	}
	port := s.listeners[0].Addr().(*net.TCPAddr).Port
	return s.Scheme() + "://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// networkURLs returns the URLs at which other machines may reach a service on all addresses.
// The addresses of a container are unknown outside.
func (s *service) networkURLs() (all []string) {
	if s.Host != "" && !net.ParseIP(s.Host).IsUnspecified() || s.env.container {
		return nil
	}
	addresses, _ := net.InterfaceAddrs() // after an error there is no note
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			all = append(all, s.urlAt(n.IP.String()))
		}
	}
	return all
}

// private returns the files and folders that --static does not serve.
func (s *service) private() []string {
	files := []string{s.file}
	if filestore.IsFolder(s.file) {
		folder := wildcard.ReplaceAllString(s.file, `\$0`)
		files, _ = filepath.Glob(filepath.Join(folder, "*.json")) // the pattern is valid
		more, _ := filepath.Glob(filepath.Join(folder, "*.json5"))
		files = append(files, more...)
	}
	return append(files, s.own()...)
}

// own returns the files and folders of the service besides the database.
func (s *service) own() []string {
	all := []string{s.env.File.Name, s.env.Getenv("PICKUP_PASSWORD_FILE")}
	for _, r := range s.reloadables {
		all = append(all, r.Paths()...)
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}
