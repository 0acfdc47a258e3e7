package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
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
	testURL     = "https://example.com/pickup"
	testVersion = "1.2.3-rc1"
)

// scratch is the directory that built makes.
var scratch string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// built makes a release once for all tests, and returns the directory that build and
// dist are in. In the long run it is a whole release of a clone without a remote; else
// it has the npm packages for this machine.
var built = sync.OnceValues(func() (root string, err error) {
	if scratch, err = os.MkdirTemp("", "pickup-release-"); err != nil {
		return "", err
	}
	root = filepath.Join(scratch, "pickup")
	if long {
		return root, sh("../../..", `git clone -q . "$0" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read | tar -x -C "$0" &&
			cd "$0" && git remote remove origin && git add -A && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m Release &&
			git tag v`+testVersion+` && make release OWNER=`+testOwner+` URL=`+testURL, root)
	}
	program := filepath.Join("dist", runtime.GOOS, "pickup")
	artifacts := fmt.Sprintf(`[{"name": "pickup", "path": %q, "type": "Binary", "goos": %q, "goarch": %q}, {"name": "other", "type": "Archive"}]`, program, runtime.GOOS, runtime.GOARCH)
	err = sh("../../..", `mkdir -p "$0/dist" && for f in README.md CHANGELOG.md LICENSE docs packaging; do ln -s "$PWD/$f" "$0"; done &&
		CGO_ENABLED=0 go build -trimpath -tags nomsgpack,grpcnotrace -ldflags "-s -w -X main.version=$1" -o "$0/$2" ./cmd/pickup &&
		cd "$0/dist" && echo "$3" > artifacts.json && echo '{"version": "'$1'"}' > metadata.json && touch checksums.txt`, root, testVersion, program, artifacts)
	if err != nil {
		return "", err
	}
	r := release{root: root, owner: testOwner, url: testURL, version: testVersion}
	if err := r.documents(); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(root, "build/THIRD_PARTY_NOTICES"), []byte("github.com/gin-gonic/gin"), 0o644); err != nil {
		return "", err
	}
	return root, r.npm()
})

// sh runs a script in dir.
func sh(dir, script string, args ...string) error {
	cmd := exec.Command("sh", append([]string{"-c", script}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// dist returns the directory of the release.
func dist(t *testing.T) string {
	t.Helper()
	root, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "dist")
}

// TestFiles checks the names of the files, their checksums, and that each package
// contains the program, if it is to, and the notices.
func TestFiles(t *testing.T) {
	dir := dist(t)
	platforms := []string{runtime.GOOS + "/" + runtime.GOARCH}
	want := []string{"someone-pickup-1.2.3-rc1.tgz"}
	if long {
		platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
		want = append(want, "pickup_1.2.3-rc1.spdx.json")
	}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		want = append(want, fmt.Sprintf("someone-pickup-%s-%s-1.2.3-rc1.tgz", npmName(system), npmName(arch)))
		base := "pickup_1.2.3-rc1_" + system + "_" + arch
		switch {
		case !long:
		case system == "windows":
			want = append(want, base+".zip")
		case system == "linux":
			want = append(want, base+".tar.gz", base+".deb", base+".rpm", base+".apk")
		default:
			want = append(want, base+".tar.gz")
		}
	}
	slices.Sort(want)
	var got []string
	for line := range strings.Lines(output(t, dir, nil, "sha256sum", "--check", "--strict", "checksums.txt")) {
		name, _, _ := strings.Cut(line, ":")
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the release has\n%q\nwant\n%q", got, want)
	}
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
			if v := output(t, dir, nil, "rpm", "-qp", "--nosignature", "--qf", "%{NAME} %{VERSION}", path); v != "pickup 1.2.3~rc1" {
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

// TestDocuments checks the links of the documents of packages.
func TestDocuments(t *testing.T) {
	checkLinks(t, filepath.Join(dist(t), "../build"))
}

// TestArchive unpacks the archive of this machine and runs the program. All is in one
// folder, so that a db.json next to it is not overwritten.
func TestArchive(t *testing.T) {
	if !long {
		return
	}
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

// TestCask checks the checksum of each archive in the cask, and that the program is
// taken out of the folder of the archive.
func TestCask(t *testing.T) {
	if !long {
		return
	}
	text, err := os.ReadFile(filepath.Join(dist(t), "homebrew/Casks/pickup.rb"))
	if err != nil {
		t.Fatal(err)
	}
	archives := regexp.MustCompile(`url "https://example.com/pickup/releases/download/v#{version}/([^"]+)"\n\s+sha256 "([0-9a-f]{64})"`).FindAllStringSubmatch(string(text), -1)
	if len(archives) != 4 || !strings.Contains(string(text), `rename "pickup_*/pickup", "pickup"`) {
		t.Errorf("the cask is\n%s", text)
	}
	for _, a := range archives {
		content, err := os.ReadFile(filepath.Join(dist(t), strings.ReplaceAll(a[1], "#{version}", testVersion)))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(content)) != a[2] {
			t.Errorf("%s has another checksum (%v)", a[1], err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct{ owner, url, want string }{
		{owner: "Someone", url: testURL, want: `OWNER="Someone": it has to be`},
		{owner: testOwner, url: testURL + "/", want: "without a slash at the end"},
		{owner: testOwner, url: testURL, want: "want documents VERSION, npm, publish"},
	} {
		t.Setenv("OWNER", test.owner)
		t.Setenv("URL", test.url)
		if err := run(nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v", test, err)
		}
	}
}

// TestReproducible makes the release again and compares.
func TestReproducible(t *testing.T) {
	if !long {
		return
	}
	dir := dist(t)
	first := output(t, dir, nil, "cat", "checksums.txt", "homebrew/Casks/pickup.rb")
	// As in another clone, in which files have other times and modes.
	output(t, dir, nil, "sh", "-c", "cd .. && find . -name .git -prune -o -type f -exec touch {} + && chmod -R go-rwx packaging docs LICENSE")
	output(t, filepath.Dir(dir), nil, "make", "release", "OWNER="+testOwner, "URL="+testURL)
	if second := output(t, dir, nil, "cat", "checksums.txt", "homebrew/Casks/pickup.rb"); second != first {
		t.Errorf("the release is\n%s\nand then\n%s", first, second)
	}
}
