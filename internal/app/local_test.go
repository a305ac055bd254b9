package app

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"bellhop/protocol"
)

// TestMain runs the tests or, for the sandbox, a program of an agent.
func TestMain(m *testing.M) {
	if url := os.Getenv(getVariable); url != "" {
		if err := request(url); err != nil {
			fmt.Println(err)
			syscall.Exit(1)
		}
		syscall.Exit(0) // the race detector would make os.Exit wait for a second
	}
	goleak.VerifyTestMain(m)
}

func TestTheLocalPortIsKeptAcrossRestarts(t *testing.T) { //nolint:paralleltest // another test could take the port between the restarts
	c := HostConfig{Data: t.TempDir()}
	first, err := c.listenLocal()
	if err != nil {
		t.Fatal(err)
	}
	address := first.Addr().String()
	another, err := c.listenLocal()
	if err != nil {
		t.Fatal(err)
	}
	if got := another.Addr().String(); got == address {
		t.Errorf("two listen on %s", got)
	}
	for _, l := range []interface{ Close() error }{first, another} {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	last := another.Addr().String()
	again, err := c.listenLocal()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := again.Addr().String(); got != last {
		t.Errorf("the next start listens on %s, the last one did on %s", got, last)
	}
}

func TestTheLocalListenerRefusesOtherThanLoopback(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":7702", "192.0.2.1:1", "localhost", "127.0.0.1"} {
		c := HostConfig{Data: t.TempDir(), LocalListen: address}
		if l, err := c.listenLocal(); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
}
