package system

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// TestInit checks that no package of pickup prepares at each startup what few runs need: tables
// and compiled texts are made at their first use.
func TestInit(t *testing.T) {
	t.Parallel()
	const most = 300_000 // bytes
	cmd := exec.Command("pickup", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages := regexp.MustCompile(`(?m)^init (pickup/\S+) @.* (\d+) bytes,`).FindAllStringSubmatch(string(out), -1)
	if len(packages) == 0 {
		t.Errorf("no package is initialized:\n%s", out)
	}
	for _, p := range packages {
		if n, err := strconv.Atoi(p[2]); err != nil || n > most {
			t.Errorf("the initialization of %s allocates %s bytes, more than %d", p[1], p[2], most)
		}
	}
}
