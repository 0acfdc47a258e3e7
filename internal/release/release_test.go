package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// long reports whether to run everything: a whole release, twice, and a newcomer's
// first steps with empty caches.
var long = os.Getenv("PICKUP_LONG") != ""

const (
	testOwner   = "someone"
	testVersion = "1.2.3-rc.1"
)

// scratch is the directory of the release that built makes.
var scratch string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// built makes a release once for all tests: for all platforms in the long run, else
// for that of the machine. It returns its directory.
var built = sync.OnceValues(func() (dir string, err error) {
	if scratch, err = os.MkdirTemp("", "pickup-dist-"); err != nil {
		return "", err
	}
	return scratch, makeRelease(scratch)
})

func makeRelease(out string) error {
	r := release{root: "../..", out: out, owner: testOwner, url: "https://example.com/pickup", version: testVersion}
	if !long {
		r.only = runtime.GOOS + "/" + runtime.GOARCH
	}
	return r.run()
}

// dist returns the directory of the release.
func dist(t *testing.T) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFiles checks the names of the files, their checksums, and that each package
// contains the program, if it is to, and the notices.
func TestFiles(t *testing.T) {
	dir := dist(t)
	platforms := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if long {
		platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
	}
	want := []string{"checksums.txt", "pickup.rb", "pickup_1.2.3-rc.1.spdx.json", "someone-pickup-1.2.3-rc.1.tgz"}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		base := "pickup_1.2.3-rc.1_" + system + "_" + arch
		switch system {
		case "windows":
			want = append(want, base+".zip")
		case "linux":
			want = append(want, base+".tar.gz", base+".deb", base+".rpm", base+".apk")
		default:
			want = append(want, base+".tar.gz")
		}
		want = append(want, fmt.Sprintf("someone-pickup-%s-%s-1.2.3-rc.1.tgz", npmName(system), npmName(arch)))
	}
	slices.Sort(want)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the release has\n%q\nwant\n%q", got, want)
	}
	output(t, dir, nil, "sha256sum", "--check", "--strict", "checksums.txt")

	for _, name := range got {
		switch path := filepath.Join(dir, name); {
		case strings.HasSuffix(name, ".tgz"), strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".apk"):
			checkContents(t, name, untar(t, path))
		case strings.HasSuffix(name, ".zip"):
			checkContents(t, name, unzip(t, path))
		case strings.HasSuffix(name, ".deb"):
			checkContents(t, name, untarText(t, output(t, dir, nil, "dpkg-deb", "--fsys-tarfile", path)))
		case strings.HasSuffix(name, ".rpm"):
			paths := output(t, dir, nil, "rpm", "-qp", "--nosignature", "-l", path)
			for _, want := range []string{"/usr/bin/pickup", "/usr/share/doc/pickup/THIRD_PARTY_NOTICES", "/usr/lib/systemd/system/pickup.service"} {
				if !strings.Contains(paths, want+"\n") {
					t.Errorf("%s lacks %s", name, want)
				}
			}
			if v := output(t, dir, nil, "rpm", "-qp", "--nosignature", "--qf", "%{NAME} %{VERSION}", path); v != "pickup 1.2.3~rc.1" {
				t.Errorf("%s is %s", name, v)
			}
		}
	}
}

// checkContents checks the files of a package, by their last element.
func checkContents(t *testing.T, name string, files map[string]string) {
	t.Helper()
	program := files["pickup"] + files["pickup.exe"]
	if isProgram := len(program) > 1e6; isProgram == strings.HasPrefix(name, "someone-pickup-1") {
		t.Errorf("%s has a program of %d bytes", name, len(program))
	}
	if !strings.Contains(files["THIRD_PARTY_NOTICES"], "github.com/gin-gonic/gin") {
		t.Errorf("%s has no notices", name)
	}
	if !strings.Contains(files["LICENSE"]+files["copyright"], "MIT License") {
		t.Errorf("%s has no licence", name)
	}
}

func untar(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return untarText(t, string(text))
}

func untarText(t *testing.T, text string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	r := tar.NewReader(strings.NewReader(text))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(h.Name)] = string(content)
	}
}

func unzip(t *testing.T, path string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := make(map[string]string)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(f.Name)] = string(content)
	}
	return files
}

// output runs a program and returns what it prints.
func output(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

func write(t *testing.T, path string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, text, mode); err != nil {
		t.Fatal(err)
	}
}

// TestArchive unpacks the archive of this machine and runs the program. All is in one
// folder, so that a db.json next to it is not overwritten.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	name := fmt.Sprintf("pickup_%s_%s_%s", testVersion, runtime.GOOS, runtime.GOARCH)
	output(t, dir, nil, "tar", "-xf", filepath.Join(dist(t), name+".tar.gz"))
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 || files[0].Name() != name {
		t.Fatalf("the archive has %v (%v)", files, err)
	}
	dir = filepath.Join(dir, name)
	if v := output(t, dir, nil, "./pickup", "version"); !strings.HasPrefix(v, "pickup "+testVersion+" go1.") {
		t.Errorf("version prints %q", v)
	}
	output(t, dir, nil, "./pickup", "check", "db.json")
	checkLinks(t, dir)
}

// checkLinks checks that links in the documents of a package lead to its files or to the
// repository, and that no placeholder is left.
func checkLinks(t *testing.T, dir string) {
	t.Helper()
	links := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) != ".md" || err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if found := regexp.MustCompile(`\bOWNER\b|[_-]VERSION\b`).Find(text); found != nil {
			t.Errorf("%s has %s", path, found)
		}
		for _, m := range regexp.MustCompile(`\]\(([^()#\s]+)`).FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err != nil || links < 50 {
		t.Errorf("%d links, %v", links, err)
	}
}

// TestBillOfMaterials looks up the parts of the program, and the fields that SPDX
// requires.
func TestBillOfMaterials(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dist(t), "pickup_"+testVersion+".spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		SPDXVersion, SPDXID, DataLicense, Name, DocumentNamespace string
		CreationInfo                                              struct {
			Created  string
			Creators []string
		}
		Packages []struct {
			Name, SPDXID, VersionInfo, DownloadLocation, LicenseDeclared string
			ExternalRefs                                                 []struct{ ReferenceLocator string }
		}
		Relationships []struct{ SPDXElementID, RelationshipType, RelatedSPDXElement string }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.SPDXVersion != "SPDX-2.3" || d.SPDXID != "SPDXRef-DOCUMENT" || d.DataLicense != "CC0-1.0" || d.Name != "pickup-"+testVersion ||
		d.DocumentNamespace == "" || d.CreationInfo.Created == "" || len(d.CreationInfo.Creators) == 0 {
		t.Errorf("the document is %+v", d)
	}
	locators, ids := make(map[string]bool), map[string]bool{d.SPDXID: true}
	for _, p := range d.Packages {
		if ids[p.SPDXID] || !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(p.SPDXID) {
			t.Errorf("the identifier %q is invalid or not unique", p.SPDXID)
		}
		if p.VersionInfo == "" || p.DownloadLocation == "" || p.LicenseDeclared == "" {
			t.Errorf("incomplete: %+v", p)
		}
		ids[p.SPDXID] = true
		for _, ref := range p.ExternalRefs {
			locators[ref.ReferenceLocator] = true
		}
	}
	described := 0
	for _, r := range d.Relationships {
		if !ids[r.SPDXElementID] || !ids[r.RelatedSPDXElement] {
			t.Errorf("a relationship names something else: %+v", r)
		}
		if r.RelationshipType == "DESCRIBES" {
			described++
		}
	}
	if described != 1 || len(d.Relationships) != len(d.Packages) {
		t.Errorf("%d packages, %d relationships, %d described", len(d.Packages), len(d.Relationships), described)
	}
	for _, want := range []string{"pkg:golang/pickup@" + testVersion, "pkg:golang/std@1.", "pkg:golang/github.com/gin-gonic/gin@v1.", "pkg:npm/preact@", "pkg:npm/%40codemirror/state@"} {
		found := false
		for locator := range locators {
			found = found || strings.HasPrefix(locator, want)
		}
		if !found {
			t.Errorf("the bill lacks %s", want)
		}
	}
}

// TestCask checks the checksum of each archive in the cask.
func TestCask(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dist(t), "pickup.rb"))
	if err != nil {
		t.Fatal(err)
	}
	archives := regexp.MustCompile(`sha256 "([0-9a-f]{64})"\n\s+url "https://example.com/pickup/releases/download/v1.2.3-rc.1/([^"]+)"`).FindAllStringSubmatch(string(text), -1)
	if len(archives) == 0 || strings.Count(string(text), "sha256") != len(archives) {
		t.Errorf("the cask is\n%s", text)
	}
	for _, a := range archives {
		content, err := os.ReadFile(filepath.Join(dist(t), a[2]))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(content)) != a[1] {
			t.Errorf("%s has another checksum (%v)", a[2], err)
		}
		folder := strings.TrimSuffix(a[2], ".tar.gz")
		if move := fmt.Sprintf("\n      rename %q, %q\n", folder+"/pickup", "pickup"); !strings.Contains(string(text), move) {
			t.Errorf("the cask lacks %s", move)
		}
	}
}

// TestRefused checks what a release does not begin with, and that nothing is lost.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "pickup.toml") // the settings of somebody
	write(t, kept, nil, 0o600)
	previous := filepath.Join(t.TempDir(), "dist/checksums.txt")
	output(t, "/", nil, "mkdir", filepath.Dir(previous))
	write(t, previous, nil, 0o600)
	for _, test := range []struct{ owner, url, version, out, only, want string }{
		{owner: "Someone", want: `-owner "Someone": it has to be`},
		{url: "https://example.com/pickup/", want: "without a slash at the end"},
		{version: "next", want: "a semantic version such as"},
		{version: "1.2.3 -X main.x=1", want: "a semantic version such as"},
		{out: dir, want: "pickup.toml is not a file of a release"},
		{out: filepath.Dir(previous), only: "plan9/mips", want: "does not build for it"},
	} {
		r := release{root: "../..", out: cmp.Or(test.out, t.TempDir()), owner: cmp.Or(test.owner, testOwner),
			url: cmp.Or(test.url, "https://example.com/pickup"), version: cmp.Or(test.version, testVersion), only: test.only}
		if err := r.run(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v", test, err)
		}
	}
	for _, path := range []string{kept, previous} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	// Outside of a repository the error has the words of git.
	r := release{root: t.TempDir()}
	if err := r.run(); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("error %v", err)
	}
}

// TestReproducible makes the release again and compares, in the long run.
func TestReproducible(t *testing.T) {
	if !long {
		return
	}
	second := t.TempDir()
	if err := makeRelease(second); err != nil {
		t.Fatal(err)
	}
	output(t, "/", nil, "diff", "-r", dist(t), second)
}

func TestSemver(t *testing.T) {
	for _, test := range []struct{ described, want string }{
		{described: "v1.2.3-0-gabcdef0", want: "1.2.3"},
		{described: "v1.2.3-0-gabcdef0-dirty", want: "1.2.4-dev.0.gabcdef0.dirty"},
		{described: "v1.2.9-5-gabcdef0", want: "1.2.10-dev.5.gabcdef0"},
		{described: "v1.2.3-rc.1-0-gabcdef0", want: "1.2.3-rc.1"},
		{described: "v1.2.3-rc.1-5-gabcdef0", want: "1.2.3-rc.1.dev.5.gabcdef0"},
		{described: "v0.0.0-512-g0123456", want: "0.0.0-dev.512.g0123456"},
		{described: "v0.0.0-512-g0123456-dirty", want: "0.0.0-dev.512.g0123456.dirty"},
	} {
		if got := semver(test.described); got != test.want {
			t.Errorf("%s: %s, want %s", test.described, got, test.want)
		}
	}
}

func TestAlpinePrerelease(t *testing.T) {
	for _, test := range []struct{ pre, want string }{
		{pre: "", want: ""},
		{pre: "rc.1", want: "rc1"},
		{pre: "beta", want: "beta"},
		{pre: "rc.1.dev.5.gabcdef0", want: "rc1_git5"},
		{pre: "dev.512.gabcdef0.dirty", want: "alpha_git512"},
		{pre: "preview", want: "alpha"},
	} {
		if got := alpinePrerelease(test.pre); got != test.want {
			t.Errorf("%s: %s, want %s", test.pre, got, test.want)
		}
	}
}

// TestConfig checks that a key which is not carried out is refused.
func TestConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("version: 2\nbuilds:\n  - main: .\n    gcflags: [all=-N]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig(path); err == nil || !strings.Contains(err.Error(), "gcflags") {
		t.Errorf("error %v", err)
	}
}
