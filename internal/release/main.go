// Command release builds what a release consists of, as .goreleaser.yaml says it:
// archives, Linux packages, a Homebrew cask, a bill of materials and checksums. It
// also makes the npm packages. Two runs at one commit give the same bytes.
//
//	go -C internal/release run . [-only GOOS/GOARCH] [-o DIR] [-owner NAME] [-url URL] [-version VERSION]
//
// It is a module of its own, so that its dependencies are not those of pickup.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	r := release{root: "../.."}
	flag.StringVar(&r.out, "o", "../../dist", "directory for the files; those of a previous release are removed")
	flag.StringVar(&r.only, "only", "", "build for one platform only, such as linux/amd64")
	flag.StringVar(&r.owner, "owner", "example", "npm scope and account that publishes")
	flag.StringVar(&r.url, "url", "https://example.com/pickup", "address of the repository")
	flag.StringVar(&r.version, "version", "", "version, by default that of git describe")
	flag.Parse()
	if err := r.run(); err != nil {
		log.Fatal(err)
	}
}

// A release is built from the repository at root into the directory out.
type release struct {
	root, out  string
	work       string // temporary directory
	only       string // platform, or "" for all
	owner, url string
	version    string    // semantic version without a v
	time       time.Time // of the commit, and of all files
	config     config
}

func (r *release) run() (err error) {
	if err := r.inspect(); err != nil {
		return err
	}
	if r.config, err = readConfig(filepath.Join(r.root, ".goreleaser.yaml")); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	out := r.out
	if err := checkDirectory(out); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "pickup-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	r.out = filepath.Join(r.work, "dist")
	if err := errors.Join(os.Mkdir(r.out, 0o755), r.documents()); err != nil {
		return err
	}
	programs, err := r.build()
	if err != nil {
		return err
	}
	for _, hook := range r.config.Before.Hooks {
		if err := r.command(r.root, nil, strings.Fields(hook)...); err != nil {
			return err
		}
	}
	var archives []archive
	for _, p := range programs {
		a, err := r.archive(p)
		if err != nil {
			return err
		}
		archives = append(archives, a)
		if err := r.linuxPackages(p); err != nil {
			return err
		}
	}
	if err := r.npmPackages(programs); err != nil {
		return err
	}
	if err := r.casks(archives); err != nil {
		return err
	}
	if err := r.billsOfMaterials(); err != nil {
		return err
	}
	if err := r.checksums(); err != nil {
		return err
	}
	// A build that fails leaves the previous release.
	if err := checkDirectory(out); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(out), os.CopyFS(out, os.DirFS(r.out)))
}

// inspect sets the version and the time from git.
func (r *release) inspect() error {
	seconds, err := r.git("log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	s, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), seconds), 10, 64)
	if err != nil {
		return err
	}
	r.time = time.Unix(s, 0).UTC()
	if r.version == "" {
		described, err := r.git("describe", "--tags", "--long", "--dirty", "--match", "v[0-9]*")
		if err != nil { // there is no tag
			count, _ := r.git("rev-list", "--count", "HEAD")
			described, _ = r.git("describe", "--always", "--dirty")
			described = fmt.Sprintf("v0.0.0-%s-g%s", count, described)
		}
		r.version = semver(described)
	}
	r.version = strings.TrimPrefix(r.version, "v")
	for _, v := range []struct{ flag, value, pattern, what string }{
		{flag: "owner", value: r.owner, pattern: `[a-z0-9][a-z0-9._-]*`, what: "the scope of npm packages, in lower case"},
		{flag: "url", value: r.url, pattern: `https?://[^\s"]*[^\s"/]`, what: "an address without a slash at the end"},
		{flag: "version", value: r.version, pattern: `\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?`, what: "a semantic version such as 1.2.3 or 1.2.3-rc.1"},
	} {
		if !regexp.MustCompile(`^` + v.pattern + `$`).MatchString(v.value) {
			return fmt.Errorf("-%s %q: it has to be %s", v.flag, v.value, v.what)
		}
	}
	return nil
}

// releaseFiles are the names of the files of a release.
var releaseFiles = func() *regexp.Regexp {
	const version = `\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?`
	return regexp.MustCompile(`^(checksums\.txt|pickup\.rb|pickup_` + version + `(_(linux|darwin|windows)_(amd64|arm64)\.(tar\.gz|zip|deb|rpm|apk)|\.spdx\.json)` +
		`|[a-z0-9][a-z0-9._-]*-pickup(-(linux|darwin|win32)-(x64|arm64))?-` + version + `\.tgz)$`)
}()

// checkDirectory returns an error if there is anything else than a release in a
// directory, which may not exist.
func checkDirectory(path string) error {
	files, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, file := range files {
		if !file.Type().IsRegular() || !releaseFiles.MatchString(file.Name()) {
			return fmt.Errorf("empty %s: %s is not a file of a release; name another directory, or remove it", path, file.Name())
		}
	}
	return nil
}

func (r *release) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// semver returns the version for what git describe --long --dirty prints: that of
// the tag, or a pre-release of the version that follows.
func semver(described string) string {
	described, dirty := strings.CutSuffix(strings.TrimPrefix(described, "v"), "-dirty")
	parts := strings.Split(described, "-")
	last := len(parts) - 2
	version, count, hash := strings.Join(parts[:last], "-"), parts[last], parts[last+1]
	if count == "0" && !dirty && version != "0.0.0" {
		return version
	}
	if base, pre, ok := strings.Cut(version, "-"); ok {
		version = base + "-" + pre + ".dev."
	} else if version == "0.0.0" {
		version += "-dev."
	} else {
		dot := strings.LastIndex(version, ".") + 1
		patch, _ := strconv.Atoi(version[dot:])
		version = version[:dot] + strconv.Itoa(patch+1) + "-dev."
	}
	version += count + "." + hash
	if dirty {
		version += ".dirty"
	}
	return version
}

// command runs a program in a directory.
func (r *release) command(dir string, env []string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return nil
}
