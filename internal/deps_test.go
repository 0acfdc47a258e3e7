package internal_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors are the packages of the program from the bottom up. A package imports
// packages of lower floors only, and nothing imports the top one.
var floors = []string{
	"internal/rawjson internal/spell internal/ordered internal/openfile server/internal/httpx filestore/internal/checksum",
	"internal/reload internal/secret internal/storage internal/jsonpatch internal/jsonsyntax internal/query filestore/internal/disk server/envelope",
	"internal/schema internal/rewrite filestore/internal/durable",
	"internal/database filestore/document",
	"internal/describe internal/source filestore etcdstore",
	"internal/fake internal/har internal/lint server/agents server/auth server/openapi server/page",
	"server/internal/problem server/internal/static",
	"server/internal/requestlog",
	"server/internal/live server/simulate",
	"internal/config server",
	"cmd/pickup",
}

// programs are on no floor: programs of their own, and tests for packages that
// implement an interface.
var programs = []string{"etcdstore/etcdtest", "internal/storage/storetest", "server/page/build"}

// owners lists the only packages that import what a path begins with.
var owners = []struct{ path, packages string }{
	{path: "github.com/gin-gonic/", packages: "server"},
	{path: "github.com/modelcontextprotocol/", packages: "server/agents"},
	{path: "github.com/google/jsonschema-go/", packages: "server/agents"},
	{path: "github.com/evanw/esbuild/", packages: "server/page/build"},
	{path: "github.com/fsnotify/", packages: "filestore filestore/internal/disk"},
	{path: "github.com/pkg/xattr", packages: "filestore/internal/disk"},
	{path: "github.com/prometheus/", packages: "server"},
	{path: "github.com/santhosh-tekuri/jsonschema/", packages: "internal/schema internal/describe"},
	{path: "go.etcd.io/", packages: "etcdstore"},
	{path: "go.uber.org/zap", packages: "etcdstore cmd/pickup"},
	{path: "google.golang.org/grpc", packages: "etcdstore"},
	{path: "github.com/tidwall/btree", packages: "internal/ordered internal/database"},
	{path: "golang.org/x/crypto/", packages: "server/auth"},
	{path: "github.com/alecthomas/kong", packages: "internal/config cmd/pickup"},
	{path: "github.com/lmittmann/tint", packages: "cmd/pickup"},
	{path: "github.com/pelletier/go-toml/", packages: "internal/config"},
	{path: "pickup/filestore", packages: "filestore filestore/document filestore/internal/disk filestore/internal/durable internal/source cmd/pickup"},
	{path: "pickup/filestore/document", packages: "filestore internal/source cmd/pickup"},
}

// TestImports checks what each package imports outside its tests.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags", "nomsgpack", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		"pickup/cmd/...", "pickup/etcdstore/...", "pickup/filestore/...", "pickup/internal/...", "pickup/server/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		paths := strings.Fields(line)
		pkg := strings.TrimPrefix(paths[0], "pickup/")
		if slices.Contains(programs, pkg) || strings.HasPrefix(pkg, "internal/tools/") || len(paths) == 1 {
			continue
		}
		floor := floorOf(pkg)
		if floor < 0 {
			t.Errorf("%s is on no floor", pkg)
		}
		for _, path := range paths[1:] {
			if name, ours := strings.CutPrefix(path, "pickup/"); ours && floorOf(name) >= floor {
				t.Errorf("%s imports %s, which is not on a lower floor", pkg, name)
			}
			for _, o := range owners {
				if strings.HasPrefix(path, o.path) && !slices.Contains(strings.Fields(o.packages), pkg) {
					t.Errorf("%s imports %s, which is for %s alone", pkg, path, o.packages)
				}
			}
		}
	}
}

// floorOf returns the index of the floor that pkg is on, -1 if it is on none.
func floorOf(pkg string) int {
	return slices.IndexFunc(floors, func(floor string) bool { return slices.Contains(strings.Fields(floor), pkg) })
}
