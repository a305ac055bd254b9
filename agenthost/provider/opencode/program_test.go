package opencode_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

// target names the environment variable that makes this test binary stand in for
// OpenCode: a server that forwards connections to the variable's value, an address of the
// test process.
const target = "OPENCODE_TEST_TARGET"

// behaviour names the environment variable that changes what that program does: with
// "dies" it exits at once.
const behaviour = "OPENCODE_TEST_HOW"

func TestMain(m *testing.M) {
	if address := os.Getenv(target); address != "" {
		forward(address)
		return
	}
	goleak.VerifyTestMain(m)
}

// forward runs that program with the arguments "serve --hostname H --port N".
func forward(address string) {
	if os.Getenv(behaviour) == "dies" {
		fmt.Fprintln(os.Stderr, "panic: oh no")
		os.Exit(3)
	}
	at := slices.Index(os.Args, "--port")
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[at+1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "ServeError")
		os.Exit(1)
	}
	fmt.Println("opencode server listening on http://127.0.0.1:" + os.Args[at+1])
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp4", address)
		if err != nil {
			_ = from.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
				_ = pair[1].Close()
			}()
		}
	}
}
