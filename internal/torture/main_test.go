//go:build linux

package torture

import (
	"os"
	"testing"

	"bellhop/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
