package system

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pickup/internal/tools/servertest"
)

// programs are the commands that the test binary is when called by their names.
var programs = make(map[string]func())

func TestMain(m *testing.M) {
	testscript.Main(servertest.WithCommand(m), programs)
}
