package store_test

import (
	"os"
	"testing"

	"bellhop/internal/testenv"
	"bellhop/webhook/outbound/outboundtest"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

func TestContract(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { outboundtest.Run(t, outboundtest.SQLite) })
	t.Run("postgres", func(t *testing.T) { outboundtest.Run(t, outboundtest.Postgres) })
}
