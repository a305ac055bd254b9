package testenv

import (
	"testing"

	"bellhop/internal/testenv/faultproxy"
)

// Proxy is a TCP proxy with faults chosen at run time.
type Proxy = faultproxy.Proxy

// NewProxy listens on 127.0.0.1 in front of target ("host:port" or the path of a unix socket)
// until t ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := faultproxy.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}
