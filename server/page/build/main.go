// Command build bundles the page: it writes ../dist, which is committed and embedded.
// It needs the packages of ../package.json (npm ci). The program never imports it.
//
// With -dev URL it serves the page on a port of its own, bundled again at each load,
// and passes everything else to the server at that URL.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-json-experiment/json"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "server/page", "the directory with package.json, src and dist")
	dev := flag.String("dev", "", "serve the page, and pass other requests to this URL")
	listen := flag.String("listen", "127.0.0.1:3001", "address of the page with -dev")
	flag.Parse()
	if err := run(*dir, *dev, *listen); err != nil {
		log.Fatal(err)
	}
}

func run(dir, dev, listen string) error {
	if dev != "" {
		return develop(dir, dev, listen)
	}
	files, err := bundle(dir)
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, "dist"), files)
}

// bundle returns the files of dist by name.
func bundle(dir string) (map[string][]byte, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root,
		// The tools and the editor are loaded when they are shown for the first time. Names
		// without hashes keep two branches from conflicting about them; there is only one
		// chunk, because the editor shares nothing with the rest.
		EntryPoints:       []string{"src/page.tsx", "src/tools.tsx", "src/editor.ts", "src/page.css", "src/theme.ts"},
		Splitting:         true,
		ChunkNames:        "shared",
		Outdir:            "dist",
		Bundle:            true,
		Format:            api.FormatESModule,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsNone, // LICENSES.txt has them
		JSX:               api.JSXAutomatic,
		JSXImportSource:   "preact",
		Metafile:          true,
		Supported:         map[string]bool{"nesting": true},
		Engines: []api.Engine{
			{Name: api.EngineChrome, Version: "123"}, {Name: api.EngineFirefox, Version: "128"}, {Name: api.EngineSafari, Version: "17.5"},
		},
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	files := make(map[string][]byte)
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		if files[name], err = os.ReadFile(filepath.Join(root, "src", name)); err != nil {
			return nil, err
		}
	}
	files["LICENSES.txt"], err = licenses(root, result.Metafile)
	return files, err
}

// licenses returns the licences of the packages that the bundle contains, as the
// metafile of esbuild lists them.
func licenses(root, metafile string) ([]byte, error) {
	var meta struct {
		Inputs map[string]struct{} `json:"inputs"`
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return nil, err
	}
	var names []string
	for input := range meta.Inputs {
		below, ok := strings.CutPrefix(input, "node_modules/")
		if !ok {
			continue
		}
		parts := strings.SplitN(below, "/", 3)
		if name := parts[0]; strings.HasPrefix(name, "@") {
			names = append(names, name+"/"+parts[1])
		} else {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var text []byte
	for _, name := range slices.Compact(names) {
		license, err := os.ReadFile(filepath.Join(root, "node_modules", name, "LICENSE"))
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "%s\n\n%s\n\n", name, strings.TrimSpace(string(license)))
	}
	return text, nil
}

// write replaces the files of a directory.
func write(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// develop serves the page of src, bundled when it is loaded, in front of a server.
func develop(dir, server, listen string) error {
	target, err := url.Parse(server)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	var files map[string][]byte
	http.HandleFunc("GET /_/{$}", func(w http.ResponseWriter, r *http.Request) {
		var err error
		if files, err = bundle(dir); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(files["index.html"])
	})
	http.HandleFunc("GET /_/page/{file}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		w.Header().Set("Content-Type", mime.TypeByExtension(filepath.Ext(name)))
		w.Write(files[name])
	})
	http.Handle("/", proxy)
	log.Printf("http://%s/_/", listen)
	return http.ListenAndServe(listen, nil)
}
