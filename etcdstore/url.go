package etcdstore

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// An Address is the place of a database in a cluster.
type Address struct {
	Hosts  []string // of the nodes, HOST:PORT
	Secure bool     // connect with TLS: the scheme is etcds
	User   string   // of etcd, may be empty
	Prefix string   // of the keys, begins and ends with a slash
}

// IsURL reports whether s is the URL of a database in etcd.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "etcd://") || strings.HasPrefix(s, "etcds://")
}

// Parse parses a URL as in etcd://HOST:PORT,HOST:PORT/PREFIX.
func Parse(text string) (Address, error) {
	fail := func(why string) (Address, error) {
		return Address{}, fmt.Errorf("%s: %s, as in etcd://10.0.0.1:2379,10.0.0.2:2379/family", Redacted(text), why)
	}
	if !IsURL(text) {
		return fail("it is not the URL of a database in etcd")
	}
	scheme, rest, _ := strings.Cut(text, "://")
	a := Address{Secure: scheme == "etcds"}
	var err error
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		if password != "" {
			return fail("set PICKUP_ETCD_PASSWORD or PICKUP_ETCD_PASSWORD_FILE: others can read a password in a URL")
		}
		a.User, err = url.PathUnescape(user)
		if err != nil || user == "" || strings.Contains(user, "/") {
			return fail("the user before @ is not valid")
		}
		rest = rest[at+1:]
	}
	authority, path, _ := strings.Cut(rest, "/")
	for host := range strings.SplitSeq(authority, ",") {
		if host != "" && !strings.Contains(host, ":") {
			host += ":2379"
		}
		if !isHostPort(host) {
			return fail(fmt.Sprintf("%q is not a host and its port", host))
		}
		a.Hosts = append(a.Hosts, host)
	}
	path, err = url.PathUnescape(strings.Trim(path, "/"))
	if err != nil || strings.ContainsAny(path, "?#") {
		return fail("the path is not valid")
	}
	if path == "" {
		return fail("name a prefix for the keys of the database after the hosts")
	}
	a.Prefix = "/" + path + "/"
	return a, nil
}

// isHostPort reports whether text has the form HOST:PORT.
func isHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0
}

// Redacted returns a URL without its password. A password should not be there, and may
// contain any character; hosts and the prefix contain no @.
func Redacted(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return text
	}
	user, _, _ := strings.Cut(rest[:at], ":")
	return scheme + "://" + user + rest[at:]
}

// errNoPassword is the error of a user without a password.
var errNoPassword = errors.New("the URL has a user of etcd: set PICKUP_ETCD_PASSWORD or PICKUP_ETCD_PASSWORD_FILE")
