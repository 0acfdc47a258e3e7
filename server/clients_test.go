package server_test

import (
	"net/http/httptest"
	"os/exec"
	"testing"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// TestClients runs the data providers that react-admin and refine have for
// json-server, as published on npm, against a real server. The calls and the
// expected results are in testdata/clients-json-server, where `make test` runs
// `npm ci`.
func TestClients(t *testing.T) {
	const folder = "testdata/clients-json-server"
	for _, script := range []string{"react-admin.mjs", "refine.mjs"} {
		t.Run(script, func(t *testing.T) {
			db, err := database.Open(t.Context(), storetest.NewMemStore(readFile(t, folder+"/db.json")), database.Options{})
			if err != nil {
				t.Fatal(err)
			}
			web := httptest.NewServer(server.Handler(db, server.Options{}))
			defer web.Close()
			node := exec.CommandContext(t.Context(), "node", script, web.URL)
			node.Dir = folder
			out, err := node.CombinedOutput()
			if err != nil || string(out) != "done\n" {
				t.Fatalf("%v (make setup fetches what it needs)\n%s", err, out)
			}
		})
	}
}
