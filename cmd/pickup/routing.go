package main

import (
	"regexp"
	"strings"
)

// routing is what the service has at which path.
type routing struct {
	Prefix string `variable:"PICKUP_PREFIX" placeholder:"PATH" help:"Serve the API below this path, such as /api, and nowhere else."`
}

// plainPath matches paths that are the same in every spelling.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// check returns an error if a setting cannot be used. A prefix may end with a slash.
func (r *routing) check() error {
	switch r.Prefix = strings.TrimSuffix(r.Prefix, "/"); {
	case r.Prefix == "":
	case !plainPath.MatchString(r.Prefix):
		return usagef("--prefix: %q is not a path such as /api or /api/v1", r.Prefix)
	case strings.HasPrefix(r.Prefix+"/", "/_/"):
		return usagef("--prefix: %q: the paths under /_/ belong to the service", r.Prefix)
	}
	return nil
}
