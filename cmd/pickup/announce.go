package main

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"text/tabwriter"

	"pickup"
)

// An announcement is what a start tells the person who started it.
type announcement struct {
	file    string
	url     string // the base URL with the real port, without a slash at the end
	snap    *pickup.Snapshot
	notices []string // what is worth knowing, one sentence each
	who     credentials
	noAuth  noAuth
	private bool // only this machine reaches the address
	tls     transport
	anyPage bool // pages of any origin may use the service
}

// String returns the announcement as text of several lines.
func (a announcement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pickup %s serves %s at %s\n", versionText(), a.file, a.url)
	first := ""
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, name := range a.snap.Names() {
		switch kind, _ := a.snap.Kind(name); kind {
		case pickup.Array:
			fmt.Fprintf(t, "  %s\t%s%s\n", printed(name), count(a.snap.Len(name), "record"), unreached(name))
			if first == "" && name != "_" && plainName.MatchString(name) {
				first = name
			}
		case pickup.Object:
			fmt.Fprintf(t, "  %s\tone object%s\n", printed(name), unreached(name))
		}
	}
	t.Flush() // into a strings.Builder, which takes everything
	for _, n := range a.notices {
		fmt.Fprintf(&b, "Note: %s\n", n)
	}
	switch {
	case a.noAuth == noAuthPublic:
		b.WriteString("WARNING: anybody who reaches this address can read and change the file: --no-auth=public asks for no credentials.\n")
	case a.noAuth == noAuthLocal:
		b.WriteString("Nobody is asked for credentials (--no-auth); only this machine reaches the address.\n")
	case a.who.generated:
		insecure := ""
		if a.tls.TLSSelfSigned {
			insecure = " --insecure"
		}
		fmt.Fprintf(&b, "No password is set, so this start made one. Try:\n  curl -u %s:%s%s %s/%s\n", shellWord(a.who.user), a.who.password, insecure, a.url, first)
		b.WriteString("To keep one of your own, set PICKUP_PASSWORD (and PICKUP_USER).\n")
	case a.who.file != "":
		fmt.Fprintf(&b, "Clients need the password of one of the users in %s.\n", a.who.file)
		if exposed(a.who.file) {
			fmt.Fprintf(&b, "Note: everybody on this machine can read the hashes in %s: chmod o-r keeps them from it.\n", a.who.file)
		}
	default:
		fmt.Fprintf(&b, "Clients need the password of the user %s.\n", printed(a.who.user))
	}
	if a.noAuth != authNeeded && a.anyPage {
		b.WriteString("WARNING: every page that a browser here shows can read and change the file: --cors-origin=* lets it, and nobody is asked for credentials.\n")
	}
	if a.noAuth == authNeeded && !a.private && !a.tls.secure() {
		b.WriteString("Note: passwords cross the network unencrypted, unless a proxy in front speaks TLS.\n")
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

// count returns "1 record", "2 records".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
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
