package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A step of a publication is a command, run in dir.
type step struct {
	what   string
	dir    string
	args   []string
	public bool // it leaves this machine: only printed by a dry run
}

var versionTag = regexp.MustCompile(`^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z]+)?)$`)

// publish makes a release of the tagged commit under the address of its owner, and
// publishes it. DRY_RUN=1 builds and signs everything, prints the other steps, and does not
// stop if something is missing for them.
func (r *release) publish(out io.Writer) error {
	dry := os.Getenv("DRY_RUN") != "0"
	missing := r.missing(dry)
	for _, m := range missing {
		fmt.Fprintln(out, "missing:", m)
	}
	if len(missing) > 0 && (!dry || r.version == "") {
		return errors.New("nothing was published")
	}

	copied := filepath.Join(r.root, "build", "publish")
	if err := os.RemoveAll(copied); err != nil {
		return err
	}
	address := strings.TrimPrefix(strings.TrimPrefix(r.url, "https://"), "http://")
	fmt.Fprintf(out, "# the module %s\ngo run ./internal/tools/release module %s %s\n", address, address, copied)
	if err := r.rename(address, copied); err != nil {
		return err
	}
	if err := do(out, dry, r.buildSteps(copied)); err != nil {
		return err
	}
	steps, err := r.publicSteps(copied)
	if err != nil {
		return err
	}
	if err := do(out, dry, steps); err != nil {
		return err
	}
	if dry {
		fmt.Fprintln(out, "Nothing was published. DRY_RUN=0 runs the steps marked with (not run), too.")
	}
	return nil
}

// missing lists what a publication needs and does not have, and sets the version.
func (r *release) missing(dry bool) (missing []string) {
	tags, err := commandOutput(r.root, "git", "tag", "--points-at", "HEAD")
	if err != nil {
		return []string{"a repository of Git: " + err.Error()}
	}
	for tag := range strings.FieldsSeq(tags) {
		if m := versionTag.FindStringSubmatch(tag); m != nil {
			r.version = m[1]
		}
	}
	if r.version == "" {
		missing = append(missing, "a tag of the commit, such as v1.2.3: git tag v1.2.3")
	}
	if changed, err := commandOutput(r.root, "git", "status", "--porcelain"); err != nil || changed != "" {
		missing = append(missing, "a clean work tree: commit or remove\n"+changed)
	}
	notes, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil || r.version != "" && !bytes.Contains(notes, []byte("## ["+r.version+"]")) {
		missing = append(missing, "a section ## ["+r.version+"] in CHANGELOG.md")
	}
	for _, tool := range []struct {
		why  string
		args []string
	}{
		{why: "a login to npm (npm login)", args: []string{"npm", "whoami"}},
		{why: "a login to GitHub (gh auth login)", args: []string{"gh", "auth", "status"}},
		{why: "Docker with buildx, for the image", args: []string{"docker", "buildx", "version"}},
	} {
		if _, err := commandOutput(r.root, tool.args[0], tool.args[1:]...); err != nil {
			missing = append(missing, tool.why)
		}
	}
	if !hasKey() {
		missing = append(missing, "a key to sign the checksums (gpg --quick-generate-key NAME)")
	}
	if !dry { // a release without a signature is allowed
		missing = slices.DeleteFunc(missing, func(m string) bool { return strings.HasPrefix(m, "a key") })
	}
	return missing
}

// hasKey reports whether gpg has a key to sign with.
func hasKey() bool {
	keys, err := commandOutput(".", "gpg", "--batch", "--list-secret-keys", "--with-colons")
	return err == nil && strings.Contains(keys, "sec:")
}

func commandOutput(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return string(out), err
}

// buildSteps returns the steps that commit the renamed copy, build the release in it and
// sign the checksums.
func (r *release) buildSteps(dir string) []step {
	tag := "v" + r.version
	steps := []step{
		{what: "the repository of the module", dir: dir, args: []string{"git", "init", "--quiet", "--initial-branch=main"}},
		{dir: dir, args: []string{"git", "add", "--all"}},
		{dir: dir, args: []string{"git", "commit", "--quiet", "--message", "pickup " + r.version}},
		{dir: dir, args: []string{"git", "tag", tag}},
		{
			what: "the files of the release", dir: dir,
			args: []string{"make", "release", "OWNER=" + r.owner, "URL=" + r.url},
		},
	}
	if hasKey() {
		sign := []string{"gpg", "--batch", "--yes", "--armor", "--detach-sign", "checksums.txt"}
		steps = append(steps, step{what: "the signature of the checksums", dir: filepath.Join(dir, "dist"), args: sign})
	}
	return steps
}

// publicSteps returns the steps that publish what is in the copy at dir.
func (r *release) publicSteps(dir string) ([]step, error) {
	dist := filepath.Join(dir, "dist")
	sums, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
	if err != nil {
		return nil, err
	}
	files := []string{"checksums.txt"}
	if _, err := os.Stat(filepath.Join(dist, "checksums.txt.asc")); err == nil {
		files = append(files, "checksums.txt.asc")
	}
	var packages []string
	for line := range strings.Lines(string(sums)) {
		name := strings.Fields(line)[1]
		if strings.HasSuffix(name, ".tgz") {
			packages = append(packages, name)
		} else {
			files = append(files, name)
		}
	}

	tag := "v" + r.version
	create := []string{
		"gh", "release", "create", tag, "--repo", r.url, "--verify-tag",
		"--title", "pickup " + r.version, "--notes-file", "../CHANGELOG.md",
	}
	if strings.Contains(r.version, "-") {
		create = append(create, "--prerelease")
	}
	steps := []step{
		{what: "the source, for go install", dir: dir, args: []string{"git", "push", r.url, "main", tag}, public: true},
		{what: "the release page", dir: dist, args: append(create, files...), public: true},
	}
	// The package with the command has the shortest name. It depends on the others.
	slices.SortFunc(packages, func(a, b string) int { return len(b) - len(a) })
	for _, name := range packages {
		publish := []string{"npm", "publish", "--access", "public", name}
		steps = append(steps, step{what: "npm", dir: dist, args: publish, public: true})
	}
	tap := filepath.Join(filepath.Dir(dir), "tap")
	image := []string{
		"docker", "buildx", "build", "--platform", "linux/amd64,linux/arm64",
		"--tag", "ghcr.io/" + r.owner + "/pickup:" + r.version, "--push", ".",
	}
	clone := []string{"gh", "repo", "clone", r.owner + "/homebrew-tap", tap}
	return append(steps,
		step{what: "the tap", dir: dir, args: clone, public: true},
		step{dir: dir, args: []string{"cp", "-R", "dist/homebrew/Casks", tap}, public: true},
		step{dir: tap, args: []string{"git", "add", "Casks"}, public: true},
		step{dir: tap, args: []string{"git", "commit", "--message", "pickup " + r.version}, public: true},
		step{dir: tap, args: []string{"git", "push"}, public: true},
		step{what: "the image", dir: dir, args: image, public: true},
	), nil
}

// do prints the steps and runs them; a dry run leaves out those that publish.
func do(out io.Writer, dry bool, steps []step) error {
	for _, s := range steps {
		if s.what != "" {
			fmt.Fprintln(out, "#", s.what)
		}
		note := ""
		if dry && s.public {
			note = "   (not run)"
		}
		fmt.Fprintf(out, "cd %s && %s%s\n", s.dir, shellLine(s.args), note)
		if note != "" {
			continue
		}
		cmd := exec.Command(s.args[0], s.args[1:]...)
		cmd.Dir = s.dir
		cmd.Stdout = out
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(s.args, " "), err)
		}
	}
	return nil
}

// shellLine returns a command as one types it: words with spaces are quoted.
func shellLine(args []string) string {
	words := slices.Clone(args)
	for i, word := range words {
		if strings.Contains(word, " ") {
			words[i] = "'" + word + "'"
		}
	}
	return strings.Join(words, " ")
}
