// Command build bundles the page: it writes ../dist, which is committed and embedded.
// It needs the packages of ../package.json (npm ci). The program never imports it.
//
// With -dev URL it serves the page on a port of its own and passes everything else to
// the server at that URL. When a file of src is saved it bundles again, and open pages
// load themselves again.
package main

import (
	"errors"
	"flag"
	"fmt"
	"html"
	"log"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

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
	result := api.Build(options(root))
	return collect(root, &result)
}

func options(root string) api.BuildOptions {
	return api.BuildOptions{
		AbsWorkingDir: root,
		// The tools, the editor and the reader of tables are loaded when they are needed for the
		// first time. Names without hashes keep two branches from conflicting about them; there
		// is only one chunk, because the editor and the reader share nothing with the rest.
		EntryPoints:       []string{"src/page.tsx", "src/tools.tsx", "src/record/editor.ts", "src/data/csv.ts", "src/page.css", "src/docs.css", "src/theme.ts"},
		Splitting:         true,
		ChunkNames:        "shared",
		Outdir:            "dist",
		EntryNames:        "[name]",
		Bundle:            true,
		Format:            api.FormatESModule,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		Charset:           api.CharsetUTF8,
		LegalComments:     api.LegalCommentsNone, // LICENSES.txt has them
		JSX:               api.JSXAutomatic,
		JSXImportSource:   "preact",
		Metafile:          true,
		Supported:         map[string]bool{"nesting": true},
		Plugins:           []api.Plugin{asModule},
		Engines: []api.Engine{
			{Name: api.EngineChrome, Version: "123"}, {Name: api.EngineFirefox, Version: "128"}, {Name: api.EngineSafari, Version: "17.5"},
		},
	}
}

// asModule makes papaparse a module of ECMAScript: those of CommonJS need a chunk of
// their own.
var asModule = api.Plugin{Name: "module", Setup: func(b api.PluginBuild) {
	b.OnLoad(api.OnLoadOptions{Filter: `/papaparse(\.min)?\.js$`}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		text, err := os.ReadFile(args.Path)
		module := "const module = {exports: {}}, exports = module.exports;\n" + string(text) + "\nexport default module.exports;"
		return api.OnLoadResult{Contents: &module}, err
	})
}}

// collect returns the files of dist that a build has made, and those that are copied.
func collect(root string, result *api.BuildResult) (files map[string][]byte, err error) {
	if len(result.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	files = make(map[string][]byte)
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

// develop serves the page of src in front of a server.
func develop(dir, server, listen string) error {
	target, err := url.Parse(server)
	if err != nil {
		return err
	}
	d, stop, err := watch(dir)
	if err != nil {
		return err
	}
	defer stop()
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	log.Printf("http://%s/_/", listen)
	return http.ListenAndServe(listen, d.handler(proxy))
}

// A developer has the latest bundle.
type developer struct {
	mu    sync.Mutex
	files map[string][]byte
	err   error         // of the bundle
	next  chan struct{} // closed when there is another bundle
}

// watch bundles dir now and whenever a file of the bundle is saved.
func watch(dir string) (d *developer, stop func(), err error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	d = &developer{next: make(chan struct{})}
	first := d.next
	o := options(root)
	o.Plugins = append(o.Plugins, api.Plugin{Name: "developer", Setup: func(b api.PluginBuild) {
		b.OnEnd(func(r *api.BuildResult) (api.OnEndResult, error) {
			d.set(collect(root, r))
			return api.OnEndResult{}, nil
		})
	}})
	c, failure := api.Context(o)
	if failure != nil {
		return nil, nil, failure
	}
	if err := c.Watch(api.WatchOptions{}); err != nil {
		return nil, nil, err
	}
	<-first
	return d, c.Dispose, nil
}

func (d *developer) set(files map[string][]byte, err error) {
	if err != nil {
		log.Print(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files, d.err = files, err
	close(d.next)
	d.next = make(chan struct{})
}

// latest returns the latest bundle, and a channel that is closed when there is another.
func (d *developer) latest() (files map[string][]byte, next <-chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files, d.next, d.err
}

func (d *developer) handler(others http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_/{$}", d.index)
	mux.HandleFunc("GET /_/page/{file}", d.file)
	mux.HandleFunc("GET /_/page/reload", d.reload)
	mux.Handle("/", others)
	return mux
}

const reloader = `<script>new EventSource("/_/page/reload").onmessage = () => location.reload()</script>`

// index serves the page, or why it cannot be bundled. It loads itself again after the next bundle.
func (d *developer) index(w http.ResponseWriter, _ *http.Request) {
	files, _, err := d.latest()
	text := files["index.html"]
	if err != nil {
		text = fmt.Appendf(nil, "<!DOCTYPE html><pre>%s</pre>", html.EscapeString(err.Error()))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(append(slices.Clip(text), reloader...))
}

func (d *developer) file(w http.ResponseWriter, r *http.Request) {
	files, _, _ := d.latest()
	text, ok := files[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(filepath.Ext(r.PathValue("file"))))
	w.Header().Set("Cache-Control", "no-store")
	w.Write(text)
}

// reload is an event stream with an event when there is another bundle.
func (d *developer) reload(w http.ResponseWriter, r *http.Request) {
	_, next, _ := d.latest()
	w.Header().Set("Content-Type", "text/event-stream")
	http.NewResponseController(w).Flush()
	select {
	case <-next:
		fmt.Fprint(w, "data: bundled\n\n")
	case <-r.Context().Done():
	}
}
