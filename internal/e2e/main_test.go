package e2e

import (
	"flag"
	"os"
	"testing"

	"bellhop/internal/testenv"
)

// storiesAtOnce is the default of -parallel: stories mostly wait, and each has two or three servers.
const storiesAtOnce = "4"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", storiesAtOnce); err != nil {
		panic(err)
	}
	os.Exit(testenv.Main(m))
}

func binary(t testing.TB) string {
	t.Helper()
	return testenv.Binary(t)
}
