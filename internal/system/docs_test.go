package system

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pickup/internal/tools/servertest"
)

// TestDocs types the commands of the documents (see docSteps), in order, in one shell,
// in a directory with the sample, or the document's own db.json, and its server. Each command
// must print what the document shows.
//
// The server listens on a free port instead of 3000 and is built once instead
// of run by go run. White space in JSON does not count, so that documents can
// lay it out for reading. "…" matches any text.
func TestDocs(t *testing.T) {
	for _, doc := range servertest.Documents(t, "README.md", "docs/*.md", "examples/quickstart/README.md") {
		text := servertest.Manual(t, doc)
		if len(docSteps(text)) == 0 {
			continue
		}
		t.Run(doc, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			runDoc(t, doc, text)
		})
	}
}

const (
	docStart  = "PICKUP_PASSWORD=secret go run ./cmd/pickup\n" // how a document starts the server
	ownStart  = "pickup --no-auth db.json\n"                   // the same for the file in its first json block
	docServer = "localhost:3000"
	docURL    = "http://localhost:3000" // the address that the server prints there

	// A person needs longer than the server from a save to the next command.
	// The test waits for the poll, the slower way of noticing an edit.
	docPause = "sleep 1.5"
)

// runDoc types the commands of the document name, whose text is given.
func runDoc(t *testing.T, name, text string) {
	steps := docSteps(text)
	dir := servertest.SampleDir(t)
	login := []string{"PICKUP_PASSWORD=secret"}
	if strings.Contains(text, "```sh\n"+ownStart) {
		login = []string{"PICKUP_NO_AUTH=1"}
		err := errors.Join(os.Remove(filepath.Join(dir, "db.schema.json")),
			os.WriteFile(filepath.Join(dir, "db.json"), []byte(servertest.Block(text, "json")), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	} else if !strings.Contains(text, docStart) {
		t.Fatalf("%s does not start the server with %q", name, docStart)
	}
	git := `git init -q && git config user.name a && git config user.email a@example.com && git add . && git commit -q -m sample && echo server.log > .git/info/exclude`
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_PAGER=cat", "LC_ALL=C.UTF-8")
	if out, err := shell(dir, env, git); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p, err := servertest.Launch("pickup", dir, append(env, login...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if shown := servertest.Block(text, "text"); strings.HasPrefix(shown, "pickup ") {
		got := strings.ReplaceAll(p.Text(), p.URL, docURL)
		got = regexp.MustCompile(`(?m)^\{.*\n`).ReplaceAllString(got, "") // the log, which is JSON here
		if !matches(shown, got) {
			t.Errorf("%s: the server prints\n%s\nbut the document shows\n%s", name, got, shown)
		}
	}

	// One shell for all commands, so that variables stay set.
	var script strings.Builder
	for _, s := range steps {
		command := strings.ReplaceAll(s.command, docServer, strings.TrimPrefix(p.URL, "http://"))
		command = strings.ReplaceAll(command, "go run ./cmd/pickup", "pickup")
		if !strings.HasPrefix(command, "curl ") {
			command += "\n" + docPause
		}
		fmt.Fprintf(&script, "%s\nprintf '%s'\n", command, `\036`)
	}
	out, err := shell(dir, append(env, "PICKUP_PORT=0"), script.String()) // port 3000 may be in use
	if err != nil {
		t.Errorf("bash: %v", err)
	}
	answers := strings.Split(out, "\x1e")
	for i, s := range steps {
		if i >= len(answers) {
			t.Fatalf("%s:%d: not reached: %s", name, s.line, s.command)
		}
		if !matches(s.want, answers[i]) {
			t.Errorf("%s:%d: %s\nprints\n%s\nbut the document shows\n%s", name, s.line, s.command, answers[i], s.want)
		}
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// shell runs a bash script and returns its standard output. Documents do not
// show standard error, where curl reports its progress.
func shell(dir string, env []string, script string) (string, error) {
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

// A step is a command of a document and the output that the document shows.
type step struct {
	line          int
	command, want string
}

// docSteps returns the steps of a document: the sh blocks that a json, diff or text block
// with the output follows, and those that edit the file and print nothing.
func docSteps(text string) []step {
	var steps []step
	block, script, at := "", "", 0 // the kind of the block, "" outside; an sh block and its line
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```") && block != "":
			if block == "sh" && quiet.MatchString(script) {
				steps = append(steps, step{line: at, command: script})
			}
			block = ""
		case strings.HasPrefix(line, "```"):
			block = cmp.Or(line[3:], "none")
			switch {
			case block == "sh":
				script, at = "", i+2
			case !slices.Contains([]string{"json", "diff", "text"}, block) || script == "" || script == docStart || script == ownStart:
				block = "none"
			default:
				steps = append(steps, step{line: at, command: script})
			}
		case block == "" && line != "":
			script = ""
		case block == "sh":
			script += line + "\n"
		case block != "" && block != "none":
			steps[len(steps)-1].want += line + "\n"
		}
	}
	return steps
}

// quiet matches the commands of a document that edit the file and print nothing.
var quiet = regexp.MustCompile(`^(sed -i|git checkout -q) `)

// matches reports whether the output got matches want, as a document shows it.
func matches(want, got string) bool {
	var a, b bytes.Buffer
	if json.Compact(&a, []byte(want)) == nil && json.Compact(&b, []byte(got)) == nil {
		want, got = a.String(), b.String()
	}
	want, got = strings.TrimSpace(want), strings.TrimSpace(got)
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	return regexp.MustCompile(`(?s)^` + pattern + `$`).MatchString(got)
}

// TestMatches checks that a document can be wrong.
func TestMatches(t *testing.T) {
	for _, test := range []struct {
		want, got string
		ok        bool
	}{
		{want: "{\n \"a\": 1\n}\n", got: `{"a":1}`, ok: true},
		{want: `{"a":1}`, got: `{"a":2}`, ok: false},
		{want: `{"a":1,"b":2}`, got: `{"b":2,"a":1}`, ok: false},
		{want: "200 OK…\ndone", got: "200 OK, 3 ms\ndone\n", ok: true},
		{want: "200 OK…\ndone", got: "404 Not Found\ndone\n", ok: false},
		{want: "", got: "", ok: true},
		{want: "", got: "surprise\n", ok: false},
	} {
		if matches(test.want, test.got) != test.ok {
			t.Errorf("matches(%q, %q) is not %v", test.want, test.got, test.ok)
		}
	}
}

// TestDocLogin sends the requests of the login in docs/simulate.md, with its rules.
func TestDocLogin(t *testing.T) {
	_, section, _ := strings.Cut(servertest.Manual(t, "docs/simulate.md"), "## A login\n")
	dir := t.TempDir()
	for name, text := range map[string]string{"pickup.toml": servertest.Block(section, "toml"), "db.json": servertest.Manual(t, "db.json")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := servertest.Launch("pickup", dir, os.Environ(), "--no-auth")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	lines := strings.Split(strings.TrimSpace(servertest.Block(section, "text")), "\n")
	if len(lines) < 4 {
		t.Fatalf("there are %d requests", len(lines))
	}
	for _, line := range lines {
		request, want, _ := strings.Cut(line, "   ")
		request, header, hasHeader := strings.Cut(request, ", Auth")
		words := strings.SplitN(request, " ", 3)
		r, err := http.NewRequest(words[0], p.URL+words[1], strings.NewReader(strings.Join(words[2:], "")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if hasHeader {
			r.Header.Set("Authorization", strings.TrimPrefix(header, "orization: "))
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if got := fmt.Sprintf("%d %s", response.StatusCode, body); err != nil || !strings.HasPrefix(got, strings.TrimSpace(want)) {
			t.Errorf("%s\nis answered with %s, %v", line, got, err)
		}
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
