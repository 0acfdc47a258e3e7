package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A program is a binary for a platform.
type program struct {
	os, arch string
	path     string
}

// name returns the name of the binary in a package.
func (p program) name() string { return filepath.Base(p.path) }

// build builds the program for each platform.
func (r *release) build() ([]program, error) {
	var all []program
	for _, b := range r.config.Builds {
		for _, system := range b.Goos {
			for _, arch := range b.Goarch {
				if r.only != "" && r.only != system+"/"+arch {
					continue
				}
				p := program{os: system, arch: arch, path: filepath.Join(r.work, system, arch, b.Binary)}
				if system == "windows" {
					p.path += ".exe"
				}
				flags, err := r.expandAll(b.Ldflags, "Os", system, "Arch", arch)
				if err != nil {
					return nil, err
				}
				args := append([]string{"go", "build"}, b.Flags...)
				args = append(args, "-tags", strings.Join(b.Tags, ","), "-ldflags", strings.Join(flags, " "), "-o", p.path, b.Main)
				// Nothing of the environment decides what is built.
				env := append([]string{"GOOS=" + system, "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=-mod=readonly"}, b.Env...)
				if err := r.command(r.root, env, args...); err != nil {
					return nil, err
				}
				all = append(all, p)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("-only %s: .goreleaser.yaml does not build for it", r.only)
	}
	return all, nil
}

// An archive is a file with the program and its documents.
type archive struct {
	program
	name   string // in out
	folder string // that all its files are in, or ""
}

// archive packs a program with the files of the configuration.
func (r *release) archive(p program) (archive, error) {
	a := archive{program: p}
	for _, c := range r.config.Archives {
		format := c.Formats[0]
		for _, o := range c.FormatOverrides {
			if o.Goos == p.os {
				format = o.Formats[0]
			}
		}
		name, err := r.expand(c.NameTemplate, "Os", p.os, "Arch", p.arch)
		if err != nil {
			return a, err
		}
		a.name = name + "." + format
		entries, err := r.read(c.Files...)
		if err != nil {
			return a, err
		}
		text, err := os.ReadFile(p.path)
		if err != nil {
			return a, err
		}
		entries = append(entries, entry{p.name(), 0o755, text})
		if c.WrapInDirectory {
			a.folder = name
			for i := range entries {
				entries[i].name = name + "/" + entries[i].name
			}
		}
		pack := packTar
		if format == "zip" {
			pack = packZip
		}
		if err := pack(filepath.Join(r.out, a.name), entries, r.time); err != nil {
			return a, err
		}
	}
	return a, nil
}

// An entry is a file in an archive.
type entry struct {
	name string
	mode os.FileMode
	text []byte
}

// read returns the files of the repository that match patterns. Each pattern must
// match one.
func (r *release) read(patterns ...string) ([]entry, error) {
	var all []entry
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(r.root, pattern))
		if err != nil || len(paths) == 0 {
			return nil, fmt.Errorf("read %s: no such file (%v)", pattern, err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(r.root, path)
			if err != nil {
				return nil, err
			}
			text, err := os.ReadFile(r.source(name))
			if err != nil {
				return nil, err
			}
			all = append(all, entry{filepath.ToSlash(name), 0o644, text})
		}
	}
	return all, nil
}

// packTar writes a tar file, compressed with gzip.
func packTar(path string, entries []entry, t time.Time) error {
	return create(path, func(f io.Writer) error {
		z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
		if err != nil {
			return err
		}
		w := tar.NewWriter(z)
		for _, e := range entries {
			h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Size: int64(len(e.text)), ModTime: t, Format: tar.FormatUSTAR}
			if err := w.WriteHeader(h); err != nil {
				return err
			}
			if _, err := w.Write(e.text); err != nil {
				return err
			}
		}
		return errors.Join(w.Close(), z.Close())
	})
}

// packZip writes a zip file.
func packZip(path string, entries []entry, t time.Time) error {
	return create(path, func(f io.Writer) error {
		w := zip.NewWriter(f)
		for _, e := range entries {
			h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: t}
			h.SetMode(e.mode)
			part, err := w.CreateHeader(h)
			if err != nil {
				return err
			}
			if _, err := part.Write(e.text); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

// create makes a file with what write writes.
func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// billsOfMaterials runs the commands that write them.
func (r *release) billsOfMaterials() error {
	for _, s := range r.config.SBOMs {
		documents, err := r.expandAll(s.Documents)
		if err != nil {
			return err
		}
		args, err := r.expandAll(s.Args)
		if err != nil {
			return err
		}
		env, err := r.expandAll(s.Env)
		if err != nil {
			return err
		}
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "$document", filepath.Join(r.out, documents[0]))
		}
		// GoReleaser runs them in dist, which is in the root of the repository.
		if err := r.command(filepath.Join(r.root, "cmd"), env, append([]string{s.Cmd}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// checksums writes the SHA-256 sums of all files, as sha256sum reads them, and
// prints what the release consists of.
func (r *release) checksums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	return create(filepath.Join(r.out, r.config.Checksum.NameTemplate), func(w io.Writer) error {
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(r.out, file.Name()))
			if err != nil {
				return err
			}
			fmt.Printf("%10d  %s\n", len(text), file.Name())
			if _, err := fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(text), file.Name()); err != nil {
				return err
			}
		}
		return nil
	})
}
