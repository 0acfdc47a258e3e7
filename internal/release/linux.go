package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// linuxPackages makes the packages of a program for Linux.
func (r *release) linuxPackages(p program) error {
	if p.os != "linux" {
		return nil
	}
	for _, c := range r.config.NFPMs {
		// A package for apk has the times of its scripts.
		for _, script := range []string{c.Scripts.PostInstall, c.Scripts.PreRemove} {
			text, err := r.read(script)
			if err != nil {
				return err
			}
			copied := r.script(script)
			if err := os.WriteFile(copied, text[0].text, 0o755); err != nil {
				return err
			}
			if err := os.Chtimes(copied, r.time, r.time); err != nil {
				return err
			}
		}
		for _, format := range c.Formats {
			if err := r.linuxPackage(p, c, format); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) linuxPackage(p program, c linuxPackage, format string) error {
	texts, err := r.expandAll([]string{c.FileNameTemplate, c.Homepage, c.Vendor, c.Maintainer, c.Mtime}, "Os", p.os, "Arch", p.arch)
	if err != nil {
		return err
	}
	mtime, err := time.Parse(time.RFC3339, texts[4])
	if err != nil {
		return err
	}
	contents := files.Contents{{Source: p.path, Destination: filepath.Join(c.Bindir, p.name()), FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: mtime}}}
	for _, content := range c.Contents {
		copied := *content
		if copied.Source != "" {
			copied.Source = r.source(copied.Source)
		}
		info := files.ContentFileInfo{Mode: 0o644}
		if copied.FileInfo != nil {
			info = *copied.FileInfo
		}
		info.MTime = mtime
		copied.FileInfo = &info
		contents = append(contents, &copied)
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: c.PackageName, Arch: p.arch, Platform: p.os, Version: r.version, VersionSchema: "semver",
		Homepage: texts[1], Vendor: texts[2], Maintainer: texts[3], MTime: mtime,
		Description: c.Description, License: c.License, Section: c.Section,
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts:  nfpm.Scripts{PostInstall: r.script(c.Scripts.PostInstall), PreRemove: r.script(c.Scripts.PreRemove)},
			RPM:      nfpm.RPM{BuildHost: r.config.ProjectName}, // not the name of this machine
		},
	})
	if format == "apk" {
		info.Prerelease = alpinePrerelease(info.Prerelease)
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return create(filepath.Join(r.out, texts[0]+"."+format), func(w io.Writer) error { return packager.Package(info, w) })
}

// script returns the path of the copy of a script.
func (r *release) script(path string) string { return filepath.Join(r.work, filepath.Base(path)) }

var prereleases = regexp.MustCompile(`^(?:(alpha|beta|rc)\.?(\d*))?(?:\.?dev\.(\d+))?`)

// alpinePrerelease returns a pre-release as apk writes it: rc1 for rc.1, rc1_git5 for
// rc.1.dev.5. One that it cannot write is an alpha version.
func alpinePrerelease(pre string) string {
	m := prereleases.FindStringSubmatch(pre)
	if pre == "" {
		return ""
	}
	pre = cmp.Or(m[1]+m[2], "alpha")
	if m[3] != "" {
		pre += "_git" + m[3]
	}
	return pre
}
