package server_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// tools is a folder with npm packages, which make test installs, and a generated
// client.
const tools = "testdata/clients/openapi"

// node runs one of the programs in dir. The test fails unless the program succeeds.
func node(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(tools, "node_modules", ".bin", program))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("%s is not there: make setup (or npm ci in server/%s) gets it", program, tools)
	}
	return run(t, dir, bin, args...)
}

func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// workshop returns a folder in which programs find the npm packages.
func workshop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	modules, err := filepath.Abs(filepath.Join(tools, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "tsconfig.json", "redocly.yaml"} {
		writeFile(t, filepath.Join(dir, name), string(readFile(t, filepath.Join(tools, name))))
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOpenAPITools lints the documents with redocly and spectral, generates types from
// them, and compiles these and the server's own types with tsc --strict.
func TestOpenAPITools(t *testing.T) {
	dir := workshop(t)
	lint := []string{"lint", "--config", "redocly.yaml"}
	writeFile(t, filepath.Join(dir, "spectral.yaml"), "extends: [spectral:oas]\n")
	var uses strings.Builder
	for name, s := range documents(t) {
		writeFile(t, filepath.Join(dir, name+".json"), s.roundTrip(t, "GET /_/openapi.json\n\n").body)
		writeFile(t, filepath.Join(dir, name+".types.d.ts"), s.roundTrip(t, "GET /_/types.d.ts\n\n").body)
		lint = append(lint, name+".json")
		if name == "odd" || name == "composed" { // each takes seconds; the sample's are made by TestGeneratedClient
			node(t, dir, "openapi-typescript", name+".json", "-o", name+".api.d.ts")
			uses.WriteString(`export type * as ` + name + ` from "./` + name + `.api.js";` + "\n")
		}
		uses.WriteString(`export type * as ` + name + `Own from "./` + name + `.types.js";` + "\n")
	}
	writeFile(t, filepath.Join(dir, "uses.ts"), uses.String())
	node(t, dir, "tsc", "--project", ".", "--noEmit")
	t.Log(node(t, dir, "redocly", lint...))
	// spectral decodes the paths of odd names, and does not find them then.
	writeFile(t, filepath.Join(dir, "plain.json"), openScript(t, freeDatabase, "").roundTrip(t, "GET /_/openapi.json\n\n").body)
	t.Log(node(t, dir, "spectral", "lint", "--ruleset", "spectral.yaml", "--fail-severity", "hint", "sample.json", "plain.json"))

	// The tools do report mistakes.
	s := documents(t)["nothing"].roundTrip(t, "GET /_/openapi.json\n\n").body
	writeFile(t, filepath.Join(dir, "bad.json"), strings.Replace(s, `"operationId":"getIndex"`, `"operationId":"getDatabase"`, 1))
	for program, args := range map[string][]string{
		"redocly":  {"lint", "--config", "redocly.yaml", "bad.json"},
		"spectral": {"lint", "--ruleset", "spectral.yaml", "bad.json"},
	} {
		cmd := exec.Command(filepath.Join("node_modules", ".bin", program), args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("for %s, an operationId that is there twice is no fault:\n%s", program, out)
		}
	}
}

// TestSampleForAjv checks that a validator in another language, with its own copy
// of the meta-schema, accepts the sample and its rules.
func TestSampleForAjv(t *testing.T) {
	dir := workshop(t)
	for _, name := range []string{"db.json", "db.schema.json"} {
		writeFile(t, filepath.Join(dir, name), string(readFile(t, filepath.Join("..", name))))
	}
	writeFile(t, filepath.Join(dir, "validate.mjs"), string(readFile(t, filepath.Join(tools, "validate.mjs"))))
	if out := run(t, dir, "node", "validate.mjs", "db.schema.json", "db.json"); !strings.Contains(out, "all is well") {
		t.Errorf("for the sample it says %s", out)
	}
	writeFile(t, filepath.Join(dir, "db.json"), strings.Replace(string(readFile(t, "../db.json")), "Unscheduled", "Scheduld", 1))
	if out := run(t, dir, "node", "validate.mjs", "db.schema.json", "db.json"); !strings.Contains(out, "/schedules/5/status") {
		t.Errorf("for an invalid status it says %s", out)
	}
}

// TestGeneratedClient compiles a client against types made from the document
// and lets it create, read, change and delete on a real server.
func TestGeneratedClient(t *testing.T) {
	schema, err := schema.Compile("db.schema.json", readFile(t, "../db.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), storetest.NewMemStore(readFile(t, "../db.json")), database.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{db: db, user: "u:p", web: server.Handler(db, server.Options{Auth: single("u", "p"), Simulate: new(server.Simulation)})}
	web := httptest.NewServer(s.web)
	defer web.Close()
	get := func(path string) string {
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		r.SetBasicAuth("u", "p")
		w := httptest.NewRecorder()
		s.web.ServeHTTP(w, r)
		return w.Body.String()
	}

	dir := workshop(t)
	writeFile(t, filepath.Join(dir, "client.ts"), string(readFile(t, filepath.Join(tools, "client.ts"))))
	writeFile(t, filepath.Join(dir, "api.json"), get("/_/openapi.json"))
	node(t, dir, "openapi-typescript", "api.json", "-o", "api.d.ts")
	writeFile(t, filepath.Join(dir, "types.d.ts"), get("/_/types.d.ts"))
	node(t, dir, "tsc", "--project", ".")
	t.Setenv("PICKUP_URL", web.URL)
	t.Setenv("PICKUP_CREDENTIALS", "u:p")
	if out := run(t, dir, "node", "client.js"); !strings.Contains(out, "all is well") {
		t.Errorf("the client says %s", out)
	}
	if n := db.Snapshot().Len("schedules"); n != 8 {
		t.Errorf("%d schedules are left, want the 7 of the sample and the one of a driver", n)
	}
}
