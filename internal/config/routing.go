package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/rewrite"
	"pickup/internal/spell"
)

// Routing maps paths to the contents of the service.
type Routing struct {
	RouteFile
	Static []string `short:"s" sep:"none" variable:"PICKUP_STATIC" placeholder:"DIR" help:"Also serve the files of this directory, at paths that the API does not use. Repeatable."`
	SPA    bool     `name:"spa" variable:"PICKUP_SPA" help:"Serve the index.html of --static at unknown paths if a browser expects a page."`
	Prefix string   `variable:"PICKUP_PREFIX" placeholder:"PATH" help:"Serve the API below this path, such as /api, and nowhere else."`
}

// plainPath matches paths with only one spelling.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// check returns an error if a setting cannot be used. A prefix may end with a slash.
func (r *Routing) check() error {
	switch r.Prefix = strings.TrimSuffix(r.Prefix, "/"); {
	case r.Prefix == "":
	case !plainPath.MatchString(r.Prefix):
		return Usagef("--prefix: %q is not a path such as /api or /api/v1", r.Prefix)
	case rewrite.IsService(r.Prefix):
		return Usagef("--prefix: %q: the paths under /_/ belong to the service", r.Prefix)
	}
	if r.Routes != "" {
		if _, err := os.Stat(r.Routes); err != nil {
			return fileError("--routes", err)
		}
	}
	for _, dir := range r.Static {
		info, err := os.Stat(dir)
		if err != nil {
			return fileError("--static", err)
		}
		if !info.IsDir() {
			return Usagef("--static: %s is not a directory", dir)
		}
	}
	if r.SPA && r.Static == nil {
		return Usagef("--spa requires --static DIR, the directory with index.html")
	}
	return nil
}

// A RouteFile names a file of routes. Without a name, the routes are the table "routes" of the
// configuration file.
type RouteFile struct {
	Routes string `short:"r" variable:"PICKUP_ROUTES" placeholder:"FILE" help:"Rewrite paths by the routes in this file, as in json-server; re-read when it changes."`
}

// Name returns the file for routes, or "".
func (f RouteFile) Name(s *Sources) string {
	if f.Routes != "" {
		return f.Routes
	}
	return s.File.Name
}

// Table returns the routes in the text of the file, nil without routes.
func (f RouteFile) Table(s *Sources, text []byte) (*rewrite.Table, error) {
	file, base := f.Name(s), 0
	var lines []rewrite.Line
	var fault *rewrite.Fault
	if f.Routes != "" {
		lines, fault = rewrite.Parse(text)
	} else if _, err := Parse(file, text); err != nil {
		return nil, err
	} else if filepath.Ext(file) != ".json" {
		lines, fault = tomlRoutes(text)
	} else if at := rawjson.MemberAt(text, rawjson.SkipSpace(text, 0), "routes"); at >= 0 && text[at] == '{' {
		lines, fault = rewrite.Parse(text[at:rawjson.SkipValue(text, at)])
		base = at
	}
	faults := []rewrite.Fault{}
	var table *rewrite.Table
	if fault != nil {
		faults = append(faults, *fault)
	} else if len(lines) > 0 {
		table, faults = rewrite.New(lines)
	}
	var found RouteFaults
	for _, fault := range faults {
		line, column := rawjson.LineColumn(text, base+fault.Offset)
		found = append(found, lint.Finding{File: file, Line: line, Column: column, Detail: fault.Detail})
	}
	if found != nil {
		return nil, found
	}
	return table, nil
}

// tomlRoutes returns the routes in a valid configuration file, in order.
func tomlRoutes(text []byte) (lines []rewrite.Line, fault *rewrite.Fault) {
	tomlKeys(text, func(pointer string, offset int, value *unstable.Node) {
		switch tokens := rawjson.SplitPointer(pointer); {
		case tokens[0] != "routes" || len(tokens) == 1:
		case len(tokens) > 2 || value == nil || value.Kind != unstable.String:
			fault = &rewrite.Fault{
				Offset: offset,
				Detail: `a route is a pattern and a target, both strings, such as "/api/*" = "/$1"`,
			}
		default:
			lines = append(lines, rewrite.Line{
				Pattern:   tokens[1],
				PatternAt: offset,
				Target:    string(value.Data),
				TargetAt:  int(value.Raw.Offset),
			})
		}
	})
	return lines, fault
}

// RouteFaults is the error of unusable routes.
type RouteFaults []lint.Finding

func (f RouteFaults) Error() string {
	if len(f) == 1 {
		return f[0].String()
	}
	return fmt.Sprintf("%s (and %s more; pickup check lists them all)", f[0], spell.Count(len(f)-1, "error"))
}

// Read returns the routes in force, nil without routes. The error may be RouteFaults.
func (f RouteFile) Read(s *Sources) (*rewrite.Table, error) {
	if f.Routes == "" {
		return f.Table(s, s.File.text)
	}
	text, err := os.ReadFile(f.Routes)
	if err != nil {
		return nil, fileError("--routes", err)
	}
	return f.Table(s, text)
}

// Print prints the routes in force as a table of the configuration file, or as comments if the
// routes are in another file.
func (f RouteFile) Print(w io.Writer, s *Sources) error {
	table, err := f.Read(s)
	if err != nil || table == nil {
		return err
	}
	comment := ""
	if f.Routes != "" {
		comment = "# "
	}
	fmt.Fprintf(w, "%s[routes] # %s\n", comment, f.Name(s))
	for _, l := range table.Lines() {
		fmt.Fprintf(w, "%s%s = %s\n", comment, rawjson.AppendQuote(nil, l.Pattern), rawjson.AppendQuote(nil, l.Target))
	}
	return nil
}
