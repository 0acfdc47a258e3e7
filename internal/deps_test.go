package internal_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What each package may import: first of ours, then of others. A package
// that is not listed here may not exist, and "alone" is not enforced by the
// compiler but by this table: gin is the server's, fsnotify the filestore's.
var allowed = map[string]string{
	"pickup/internal/rawjson": `
		github.com/go-json-experiment/json/jsontext`,
	"pickup/internal/spell": ``,
	"pickup/internal/ordered": `
		github.com/tidwall/btree`,
	"pickup/internal/jsonpatch": `
		pickup/internal/rawjson
		github.com/go-json-experiment/json/jsontext`,
	"pickup/internal/query": `
		pickup/internal/rawjson
		pickup/internal/spell
		github.com/go-json-experiment/json/jsontext`,
	"pickup/internal/schema": `
		pickup/internal/rawjson
		pickup/internal/spell
		github.com/go-json-experiment/json/jsontext
		github.com/santhosh-tekuri/jsonschema/v6
		github.com/santhosh-tekuri/jsonschema/v6/kind`,
	"pickup/internal/storage": `
		pickup/internal/ordered
		pickup/internal/rawjson
		github.com/go-json-experiment/json/jsontext`,
	"pickup/internal/database": `
		pickup/internal/jsonpatch
		pickup/internal/ordered
		pickup/internal/query
		pickup/internal/rawjson
		pickup/internal/schema
		pickup/internal/spell
		pickup/internal/storage
		github.com/tidwall/btree
		github.com/go-json-experiment/json/jsontext
		github.com/google/uuid`,
	"pickup/internal/describe": `
		pickup/internal/database
		pickup/internal/rawjson
		pickup/internal/schema
		pickup/internal/storage
		github.com/go-json-experiment/json/jsontext
		github.com/santhosh-tekuri/jsonschema/v6`,
	"pickup/filestore": `
		pickup/filestore/document
		pickup/internal/storage
		github.com/go-json-experiment/json/jsontext
		github.com/fsnotify/fsnotify
		golang.org/x/sys/unix
		golang.org/x/sys/windows`,
	"pickup/filestore/document": `
		pickup/internal/ordered
		pickup/internal/rawjson
		pickup/internal/storage
		github.com/go-json-experiment/json/jsontext`,
	"pickup/internal/storage/storetest": `
		pickup/internal/storage
		github.com/go-json-experiment/json/jsontext`,
	"pickup/server": `
		pickup/internal/database
		pickup/internal/query
		pickup/internal/rawjson
		pickup/internal/schema
		pickup/internal/storage
		pickup/server/auth
		pickup/server/openapi
		github.com/go-json-experiment/json/jsontext
		github.com/gin-gonic/gin
		github.com/prometheus/client_golang/prometheus
		github.com/prometheus/client_golang/prometheus/collectors
		github.com/prometheus/client_golang/prometheus/promhttp`,
	"pickup/server/auth": `
		golang.org/x/crypto/argon2
		golang.org/x/crypto/bcrypt
		golang.org/x/text/unicode/norm`,
	"pickup/server/openapi": `
		pickup/internal/database
		pickup/internal/describe
		pickup/internal/rawjson
		pickup/internal/storage
		github.com/go-json-experiment/json/jsontext`,
	"pickup/cmd/pickup": `
		pickup/filestore/document
		pickup/server/auth
		pickup/internal/database
		pickup/internal/describe
		pickup/internal/rawjson
		pickup/internal/schema
		pickup/internal/spell
		pickup/internal/storage
		pickup/filestore
		pickup/server
		github.com/alecthomas/kong
		github.com/pelletier/go-toml/v2
		github.com/go-json-experiment/json/jsontext
		golang.org/x/term`, // jsontext reads "$schema" and writes a new file

	"pickup/internal": ``, // this test

	// bench measures programs from outside and knows none of ours; its floor
	// is what is left of them without the database.
	"pickup/internal/bench": ``,
	"pickup/internal/bench/floor": `
		github.com/gin-gonic/gin
		golang.org/x/sys/unix`,
}

// TestImports holds the packages to the table.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags", "nomsgpack", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "pickup/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg, imports := fields[0], fields[1:]
		list, ok := allowed[pkg]
		if strings.HasPrefix(pkg, "pickup/examples/") {
			list, ok = "pickup/filestore pickup/server", true
		}
		if !ok {
			t.Errorf("package %s is not in the table: a new package needs a second user", pkg)
		}
		for _, imp := range imports {
			standard := !strings.Contains(strings.Split(imp, "/")[0], ".") && imp != "pickup" && !strings.HasPrefix(imp, "pickup/")
			if !standard && !slices.Contains(strings.Fields(list), imp) {
				t.Errorf("%s may not import %s", pkg, imp)
			}
		}
	}
}
