//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublish makes two dry runs in a small repository, without and with a tag. The Makefile of
// the repository does the work of GoReleaser.
func TestPublish(t *testing.T) {
	for name, value := range map[string]string{
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com",
		"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
		"GNUPGHOME": t.TempDir(), "DRY_RUN": "1",
	} {
		t.Setenv(name, value)
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module pickup\n",
		"main.go":      "package main\n\nimport _ \"pickup/internal/a\"\n",
		".gitignore":   "/build/\n/dist/\n",
		"CHANGELOG.md": "## [1.2.3]\n",
		"Makefile": "release:\n\tmkdir dist && cd dist && for f in a.tar.gz $(OWNER)-pickup-1.2.3.tgz $(OWNER)-pickup-linux-x64-1.2.3.tgz; " +
			"do echo \"0  $$f\" >>checksums.txt; done\n",
	} {
		write(t, filepath.Join(root, name), []byte(text), 0o644)
	}
	output(t, root, nil, "sh", "-c", "git init -q && git add -A && git commit -q -m First")
	r := release{root: root, owner: testOwner, url: "https://github.com/someone/pickup"}

	var out strings.Builder
	if err := r.publish(&out); err == nil || !strings.Contains(out.String(), "missing: a tag of the commit, such as v1.2.3: git tag v1.2.3\n") {
		t.Errorf("without a tag: %v\n%s", err, &out)
	}

	output(t, root, nil, "git", "tag", "v1.2.3")
	write(t, filepath.Join(root, "unsaved"), nil, 0o644)
	out.Reset()
	if err := r.publish(&out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	at := 0
	for _, want := range []string{
		"missing: a clean work tree",
		"missing: a key to sign the checksums",
		"# the module github.com/someone/pickup\n",
		"git tag v1.2.3\n",
		"make release OWNER=someone URL=https://github.com/someone/pickup\n",
		"git push https://github.com/someone/pickup main v1.2.3   (not run)\n",
		"--title 'pickup 1.2.3' --notes-file ../CHANGELOG.md checksums.txt a.tar.gz   (not run)\n",
		"npm publish --access public someone-pickup-linux-x64-1.2.3.tgz   (not run)\n",
		"npm publish --access public someone-pickup-1.2.3.tgz   (not run)\n",
		"gh repo clone someone/homebrew-tap",
		"docker buildx build --platform linux/amd64,linux/arm64 --tag ghcr.io/someone/pickup:1.2.3 --push .   (not run)\n",
		"Nothing was published.",
	} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or too early, in\n%s", want, &out)
		}
		at += i
	}
	text, err := os.ReadFile(filepath.Join(root, "build/publish/main.go"))
	if err != nil || !strings.Contains(string(text), `"github.com/someone/pickup/internal/a"`) {
		t.Errorf("the copy has %s (%v)", text, err)
	}

	t.Setenv("DRY_RUN", "0")
	if err := r.publish(&out); err == nil {
		t.Error("it publishes from a work tree with changes")
	}
}
