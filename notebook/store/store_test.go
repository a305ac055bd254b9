package store_test

import (
	"os"
	"testing"

	"bellhop/internal/testenv"
	"bellhop/notebook/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, storetest.Run)
}
