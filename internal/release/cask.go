package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// brewNames are the names of systems and processors in Homebrew.
var brewNames = map[string]string{"darwin": "macos", "linux": "linux", "amd64": "intel", "arm64": "arm"}

// casks writes a Homebrew cask for the archives for macOS and Linux.
func (r *release) casks(archives []archive) error {
	for _, c := range r.config.HomebrewCasks {
		homepage, err := r.expand(c.Homepage)
		if err != nil {
			return err
		}
		err = create(filepath.Join(r.out, c.Name+".rb"), func(w io.Writer) error {
			fmt.Fprintf(w, "cask %q do\n  version %q\n", c.Name, r.version)
			for _, a := range archives {
				if brewNames[a.os] == "" {
					continue
				}
				url, err := r.expand(c.URL.Template, "ArtifactName", a.name)
				if err != nil {
					return err
				}
				text, err := os.ReadFile(filepath.Join(r.out, a.name))
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "\n  on_%s do\n    on_%s do\n      sha256 \"%x\"\n      url %q\n", brewNames[a.os], brewNames[a.arch], sha256.Sum256(text), url)
				if a.folder != "" {
					fmt.Fprintf(w, "      rename %q, %q\n", a.folder+"/"+a.program.name(), a.program.name())
				}
				fmt.Fprint(w, "    end\n  end\n")
			}
			fmt.Fprintf(w, "\n  name %q\n  desc %q\n  homepage %q\n\n  binary %q\n", c.Name, c.Description, homepage, c.Name)
			script := strings.ReplaceAll(strings.TrimSpace(c.Hooks.Post.Install), "\n", "\n    ")
			_, err := fmt.Fprintf(w, "\n  postflight do\n    %s\n  end\nend\n", script)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
