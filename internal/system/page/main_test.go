package page

import (
	"os"
	"testing"

	"pickup/internal/tools/servertest"
)

func TestMain(m *testing.M) {
	os.Exit(servertest.WithCommand(m).Run())
}
