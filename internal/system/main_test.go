package system

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pickup/internal/tools/servertest"
)

// programs are the commands that the test binary is when called by their names, and
// commands of scripts. The built pickup comes before this one on the PATH.
var programs = map[string]func(){
	"pickup": func() { panic("pickup is not built") },
}

func TestMain(m *testing.M) {
	testscript.Main(servertest.WithCommand(m), programs)
}
