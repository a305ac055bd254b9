//go:build agents

package agents

import (
	"os"
	"testing"

	"bellhop/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
