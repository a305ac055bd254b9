package store_test

import (
	"os"
	"testing"

	"bellhop/internal/testenv"
	"bellhop/webhook/outbound/outboundtest"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

func TestContract(t *testing.T) {
	t.Parallel()
	open := map[string]func(testing.TB) *outboundtest.Site{
		"sqlite": outboundtest.SQLite, "postgres": outboundtest.Postgres,
	}
	testenv.EachDatabase(t, func(t *testing.T, kind string) { outboundtest.Run(t, open[kind]) })
}
