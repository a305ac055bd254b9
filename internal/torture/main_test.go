//go:build linux

package torture

import (
	"os"
	"testing"

	"bellhop/internal/testenv"
)

func TestMain(m *testing.M) {
	if os.Getenv(tellTime) != "" {
		tellTimes(os.Stdin, os.Stdout)
		return
	}
	os.Exit(testenv.Main(m))
}
