package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestDocs runs the walk-throughs as they are typed: every fenced block called
// console, in order, in one shell, in a folder with the sample and with the
// server that the document starts. What a command prints has to be what the
// document shows.
//
// The server listens on a free port instead of 3000, and is built once instead
// of by go run. A shown answer that is JSON is compared as JSON, so that it may
// be laid out for reading; elsewhere "…" stands for what differs from run to
// run.
func TestDocs(t *testing.T) {
	for _, doc := range []string{"README.md", "examples/quickstart/README.md"} {
		t.Run(doc, func(t *testing.T) {
			t.Parallel() // most of it is waiting, as a person would
			runDoc(t, filepath.Join("../..", doc))
		})
	}
}

const (
	docStart  = "PICKUP_PASSWORD=secret go run ./cmd/pickup\n" // how a document starts the server
	docServer = "localhost:3000"
	docURL    = "http://127.0.0.1:3000" // how the server calls itself there

	// A person needs longer than the service to get from a save to the next
	// command. The test waits for the poll, the slower way of seeing an edit.
	docPause = "sleep 1.5"
)

func runDoc(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), docStart) {
		t.Fatalf("%s does not start the server by %q", path, docStart)
	}
	steps := docSteps(string(text))
	if len(steps) == 0 {
		t.Fatalf("%s has no command to run", path)
	}
	dir := t.TempDir()
	for _, name := range []string{"db.json", "db.schema.json"} {
		sample, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), sample, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := `git init -q && git add . && git -c user.name=a -c user.email=a@example.com commit -q -m sample && echo server.log > .git/info/exclude`
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_PAGER=cat", "LC_ALL=C.UTF-8")
	if out, err := shell(dir, env, git); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p, err := launch("pickup", dir, append(env, "PICKUP_PASSWORD=secret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	if shown := docBlock(string(text), "text"); strings.HasPrefix(shown, "pickup ") {
		got := strings.ReplaceAll(p.text(), p.url, docURL)
		got = regexp.MustCompile(`(?m)^\{.*\n`).ReplaceAllString(got, "") // the log, in JSON here
		if !matches(shown, got) {
			t.Errorf("%s: the start prints\n%s\nand the document shows\n%s", path, got, shown)
		}
	}

	// One shell for all, so that a variable that is set stays set.
	var script strings.Builder
	for _, s := range steps {
		command := strings.ReplaceAll(s.command, docServer, strings.TrimPrefix(p.url, "http://"))
		command = strings.ReplaceAll(command, "go run ./cmd/pickup", "pickup")
		if !strings.HasPrefix(command, "curl ") {
			command += "\n" + docPause
		}
		fmt.Fprintf(&script, "%s\nprintf '%s'\n", command, `\036`)
	}
	out, err := shell(dir, env, script.String())
	if err != nil {
		t.Errorf("the shell: %v", err)
	}
	answers := strings.Split(out, "\x1e")
	for i, s := range steps {
		if i >= len(answers) {
			t.Fatalf("%s: line %d was not reached: %s", path, s.line, s.command)
		}
		if !matches(s.want, answers[i]) {
			t.Errorf("%s:%d: %s\nprints\n%s\nand the document shows\n%s", path, s.line, s.command, answers[i], s.want)
		}
	}
	if err := p.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// shell runs a bash script and returns what it prints on standard output. What
// goes to standard error, as curl's progress does, is not shown by documents.
func shell(dir string, env []string, script string) (string, error) {
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, errors.String())
	}
	return string(out), err
}

// docBlock returns the first block of a document that is called name.
func docBlock(text, name string) string {
	_, block, _ := strings.Cut(text, "```"+name+"\n")
	block, _, _ = strings.Cut(block, "```")
	return block
}

// A step is one command of a document and what it prints there.
type step struct {
	line          int
	command, want string
}

// docSteps returns the steps of a document's console blocks: a line that
// begins with "$ " is a command, one with "> " continues it, the rest is what
// it prints.
func docSteps(text string) []step {
	var steps []step
	inside := false
	for i, line := range strings.Split(text, "\n") {
		last := len(steps) - 1
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, step{line: i + 1, command: line[2:]})
		case strings.HasPrefix(line, "> ") && last >= 0 && steps[last].want == "":
			steps[last].command += "\n" + line[2:]
		case last >= 0:
			steps[last].want += line + "\n"
		}
	}
	return steps
}

// matches reports whether got is what a document shows as want.
func matches(want, got string) bool {
	var a, b bytes.Buffer
	if json.Compact(&a, []byte(want)) == nil && json.Compact(&b, []byte(got)) == nil {
		want, got = a.String(), b.String()
	}
	want, got = strings.TrimSpace(want), strings.TrimSpace(got)
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	return regexp.MustCompile(`(?s)^` + pattern + `$`).MatchString(got)
}

// A walk-through's test must be able to fail.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"{\n \"a\": 1\n}\n", `{"a":1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, false},
		{"200 OK…\ndone", "200 OK, 3 ms\ndone\n", true},
		{"200 OK…\ndone", "404 Not Found\ndone\n", false},
		{"", "", true},
		{"", "surprise\n", false},
	} {
		if matches(c.want, c.got) != c.ok {
			t.Errorf("matches(%q, %q) is not %v", c.want, c.got, c.ok)
		}
	}
}
