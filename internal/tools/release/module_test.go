//go:build unix

package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestModule renames the module: "go install" gets the command from a proxy. In the long
// run the whole copy is vetted, and its tests are compiled.
func TestModule(t *testing.T) {
	const address = "github.com/someone/pickup"
	dir := filepath.Join(t.TempDir(), "pickup")
	r := release{root: "../../.."}
	if err := r.rename(address, dir); err != nil {
		t.Fatal(err)
	}
	env := []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -tags=nomsgpack,grpcnotrace"}
	list := `{{join .Imports "\n"}}{{"\n"}}{{join .TestImports "\n"}}{{"\n"}}{{join .XTestImports "\n"}}`
	imports := output(t, dir, env, "go", "list", "-f", list, "./...")
	if strings.Contains(imports, "\npickup/") || !strings.Contains(imports, "\n"+address+"/filestore\n") {
		t.Errorf("the copy imports\n%s", imports)
	}
	if got := output(t, dir, env, "go", "list", "-m"); got != address+"\n" {
		t.Errorf("the module is %s", got)
	}
	if long {
		output(t, dir, env, "go", "vet", "./...")
		output(t, dir, env, "go", "test", "-run", "^$", "./...")
	}

	bin := t.TempDir()
	proxy := publishTo(t, dir, address, "v1.2.3")
	install := []string{
		"CGO_ENABLED=0", "GOFLAGS=-mod=mod -modcacherw -trimpath -tags=nomsgpack,grpcnotrace",
		"GOPROXY=file://" + proxy + ",file://" + downloads(t), "GOSUMDB=off", "GOBIN=" + bin,
	}
	output(t, bin, install, "go", "install", address+"/cmd/pickup@latest")
	if v := output(t, bin, nil, filepath.Join(bin, "pickup"), "version"); !strings.HasPrefix(v, "pickup v1.2.3 "+runtime.Version()) {
		t.Errorf("version prints %q", v)
	}
}

// downloads returns what the module cache has of other modules, as a proxy serves it.
func downloads(t *testing.T) string {
	t.Helper()
	return filepath.Join(strings.TrimSpace(output(t, ".", nil, "go", "env", "GOMODCACHE")), "cache/download")
}

// publishTo makes a proxy with one version of the module in dir and returns its directory.
func publishTo(t *testing.T, dir, address, version string) string {
	t.Helper()
	root := t.TempDir()
	at := filepath.Join(root, address, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, "list"), []byte(version+"\n"), 0o644)
	write(t, filepath.Join(at, version+".mod"), mod, 0o644)
	write(t, filepath.Join(at, version+".info"), []byte(`{"Version":"`+version+`","Time":"2026-01-31T12:00:00Z"}`), 0o644)
	file, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z := zip.NewWriter(file)
	addFiles(t, z, dir, address+"@"+version+"/")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return root
}

// addFiles adds the files of a module to z. Folders with a go.mod are other modules.
func addFiles(t *testing.T, z *zip.Writer, dir, prefix string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err != nil {
				addFiles(t, z, path, prefix+e.Name()+"/")
			}
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := z.Create(prefix + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
}
