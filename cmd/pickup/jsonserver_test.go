package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"pickup/internal/config"
)

// TestPublicCommands has commands of json-server in the package.json of public
// front-end projects. With one word changed they run, or say what to use instead.
func TestPublicCommands(t *testing.T) {
	type meaning struct {
		file, host, routes, static, delay string
		port                              int
	}
	for _, test := range []struct {
		command string
		want    meaning
		refused string // a part of the error
	}{
		{command: "json-server --watch db.json --port 3001", want: meaning{file: "db.json", port: 3001}},
		{command: "json-server -p3001 --watch db.json", want: meaning{file: "db.json", port: 3001}},
		{command: "json-server -w server/db.json -p 4200", want: meaning{file: "server/db.json", port: 4200}},
		{command: "json-server db.json --watch --port 3030", want: meaning{file: "db.json", port: 3030}},
		{command: "json-server -w db.json -d 2500", want: meaning{file: "db.json", delay: "2500"}},
		{command: "json-server --port 3002 --watch db.json --delay 1500", want: meaning{file: "db.json", port: 3002, delay: "1500"}},
		{command: "json-server -p 8088 -w database.json", want: meaning{file: "database.json", port: 8088}},
		{command: "json-server --port 8000 data/cities.json", want: meaning{file: "data/cities.json", port: 8000}},
		{
			command: "json-server --watch db.json --port 3001 --host localhost --delay 500",
			want:    meaning{file: "db.json", host: "localhost", port: 3001, delay: "500"},
		},
		{
			command: "json-server --watch mock-server/db.json --routes mock-server/routes.json --port 3000",
			want:    meaning{file: "mock-server/db.json", routes: "mock-server/routes.json"},
		},
		{command: "json-server -s ./static -s ./node_modules db.json", want: meaning{file: "db.json", static: "./static ./node_modules"}},
		{command: "json-server --watch --host localhost db.json", want: meaning{file: "db.json", host: "localhost"}},
		{command: "json-server --watch db.json --host 192.168.1.5 --port 3000", want: meaning{file: "db.json", host: "192.168.1.5"}},
		{command: "json-server --static ./build db.json", want: meaning{file: "db.json", static: "./build"}},
		{command: "json-server --static . --watch data.json", want: meaning{file: "data.json", static: "."}},
		{
			command: "json-server --delay 4000 --routes ./config/routes.json --watch mock-data/hotels-data.json",
			want:    meaning{file: "mock-data/hotels-data.json", routes: "./config/routes.json", delay: "4000"},
		},
		{
			command: "json-server db.json --routes routes.json --port 8008 --delay 1000",
			want:    meaning{file: "db.json", routes: "routes.json", port: 8008, delay: "1000"},
		},
		{
			command: "json-server --static . data.json --middlewares ./node_modules/json-server-reset",
			refused: "--middlewares: pickup runs no JavaScript: use rules in pickup.toml ([[simulate]])",
		},
		{
			command: "json-server __json_server_mock__/db.json --watch --port 3001 --middlewares ./__json_server_mock__/middleware.js",
			refused: "use rules in pickup.toml",
		},
		{command: "json-server projects/app/data.js --port 3500 --middleware projects/app/authMiddleware.js", refused: "use rules in pickup.toml"},
		{
			command: "json-server projects/app/data.js --port 3500",
			refused: `data.js is a program: let it write a JSON file, and serve that, as in ` +
				`node -p 'JSON.stringify(require("./projects/app/data.js")())' > db.json`,
		},

		// Forms that the documentation of json-server has.
		{command: "json-server -H 0.0.0.0 -r routes.json -s public -q db.json",
			want: meaning{file: "db.json", host: "0.0.0.0", routes: "routes.json", static: "public"}},
		{command: "json-server --ro --nc --ng -S snapshots -i _id --fks _id db.json", want: meaning{file: "db.json"}},
		{command: "json-server --readOnly --noCors --noGzip --snapshots=. --id=_id --foreignKeySuffix=_id db.json", want: meaning{file: "db.json"}},
		{command: "json-server db.json -m ./first.js ./second.js", refused: "-m: pickup runs no JavaScript"},
		{command: "json-server http://example.org/db.json", refused: "curl -o db.json http://example.org/db.json"},
		{command: "json-server etcd://me:secret@10.0.0.1/family", refused: "import db.json etcd://me@10.0.0.1/family"},
		{command: "json-server --cr db.json", refused: "--cr: use --cors-origin"},
	} {
		t.Run(test.command, func(t *testing.T) {
			e := &environment{Sources: &config.Sources{File: new(config.File), Getenv: func(string) string { return "" }}}
			t.Chdir(t.TempDir())
			parsed, err := parse(t.Context(), strings.Fields(test.command)[1:], e)
			c, _ := parsed.(*serveCommand)
			if err == nil {
				err = checkSource(e.Path(c.File))
			}
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) || exitCode(err) != exitUsage || strings.Contains(err.Error(), "\n") {
					t.Errorf("exit code %d: %v", exitCode(err), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want.host == "" {
				want.host = "localhost"
			}
			if want.port == 0 {
				want.port = 3000
			}
			got := meaning{file: e.Path(c.File), host: c.Host, port: c.Port, routes: c.Routes, static: strings.Join(c.Static, " "), delay: c.Delay.String()}
			if c.Delay.Max == 0 {
				got.delay = ""
			}
			if got != want {
				t.Errorf("it means %+v", got)
			}
			if strings.Contains(test.command, "_id") && (c.IDField != "_id" || c.FKS != "_id" || !c.ReadOnly || !c.NoCompression || len(c.Unneeded.Notes()) != 2) {
				t.Errorf("it means %+v", c)
			}
		})
	}
}

// TestQuiet starts the server with -q: it prints the password, which nobody else
// knows, and nothing that is as it should be.
func TestQuiet(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("db.json", []byte(`{"posts":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	var printed strings.Builder
	stderr := writerFunc(func(b []byte) (int, error) {
		stop() // the banner is complete
		return printed.Write(b)
	})
	code := run(ctx, []string{"-q", "-w", "-p", "0", "--log-format=text"}, func(string) string { return "" }, nil, io.Discard, stderr)
	text := printed.String()
	if code != exitStopped || !strings.Contains(text, "No password is set") || strings.Contains(text, "serves") || strings.Contains(text, "Note:") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
